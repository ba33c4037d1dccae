//! DynamoDB.
