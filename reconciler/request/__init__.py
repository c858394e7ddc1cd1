"""DynamoGraphDeploymentRequests: what a request asks for, its profiling Job, and what becomes of the result. Pure, but for the copier."""
