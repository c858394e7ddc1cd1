"""DynamoGraphDeploymentRequests: the profiling Job of a request, its phases, and the graph that results."""
