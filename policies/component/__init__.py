"""Rules about one component: a service of a graph, or a DynamoComponentDeployment; one file per theme."""
