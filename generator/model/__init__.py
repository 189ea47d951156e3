"""The vocabulary: frozen types without behaviour beyond what follows from their own fields."""
