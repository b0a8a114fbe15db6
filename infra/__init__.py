"""Where the functions run: the AWS CDK stacks and their constructs, one construct a file."""
