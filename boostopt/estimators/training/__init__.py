"""The training of classifiers: data, hypothesis classes, one class against the rest, the choice of nu."""
