"""Documents of a stream, and where they are from."""

from generator.upstream.documents import SourcedDocument, documents


def test_documents_know_their_templates() -> None:
    text = "---\n# Source: toy/a.yaml\na: 1\n---\n# Source: toy/b.yaml\n# no more\n---\n# Source: toy/c.yaml\n|\n ---\n"
    assert documents(text) == [
        SourcedDocument("toy/a.yaml", {"a": 1}),
        SourcedDocument("toy/b.yaml", None),
        SourcedDocument("toy/c.yaml", "---\n"),
    ]
    assert documents("a: 1\n") == [SourcedDocument("", {"a": 1})]
    assert documents("") == []


def test_what_stands_within_a_document_is_no_mark_of_its_template() -> None:
    text = "---\n# Source: toy/a.yaml\na: 1\n# Source: toy/b.yaml\nb: 2\n"
    assert documents(text) == [SourcedDocument("toy/a.yaml", {"a": 1, "b": 2})]
