"""DynamoModels: which pods serve a base model, and LoRA adapters loaded on each of them."""
