"""What `gen explain` tells about findings on the text of a cluster file: what is no YAML, or not YAML alone."""

from generator.model.rule import Explained

CONFLICT = Explained(
    code="GEN-YAML-001",
    title="no merge conflict markers",
    text="""
    Git left both sides of a merge in the file; which one is meant, only a person can say.

    Wrong:
        <<<<<<< HEAD
        name: ml50
        =======
        name: ml51
        >>>>>>> more-nodes
    Right:
        name: ml51
    """,
)
ENCODING = Explained(
    code="GEN-YAML-002",
    title="the file is UTF-8",
    text="""
    In another encoding the same bytes are other text, and each program would read a different file.

    Wrong:
        (a file saved as Latin-1 or UTF-16)
    Right:
        (the same file saved as UTF-8)
    """,
)
CHARACTER = Explained(
    code="GEN-YAML-003",
    title="no invisible or control characters",
    text="""
    YAML forbids control characters, and characters that look like a blank, like nothing or like a line end are read
    differently by different programs. They mostly come from copying out of web pages and chats.

    Wrong:
        (a no-break space, a NUL, a lone carriage return, a second byte order mark)
    Right:
        name: "two\\u2028lines"
    """,
)
TOO_LARGE = Explained(
    code="GEN-YAML-004",
    title="the file is not too large",
    text="""
    A cluster of ten thousand nodes fits the limit several times over; a larger file is another file.

    Wrong:
        (a file of more than 8 MiB)
    Right:
        name: ml50
    """,
)
EMPTY = Explained(
    code="GEN-YAML-005",
    title="the file is not empty",
    text="""
    An empty file would describe a cluster without nodes, and its rendering would remove everything.

    Wrong:
        # nothing but comments
    Right:
        metadata:
          name: ml50
    """,
)
NO_MAPPING = Explained(
    code="GEN-YAML-006",
    title="the file is a mapping",
    text="""
    A cluster file is keys with values: apiVersion, kind, metadata and spec.

    Wrong:
        - name: ml50
    Right:
        metadata:
          name: ml50
    """,
)
SECOND_DOCUMENT = Explained(
    code="GEN-YAML-007",
    title="one document in a file",
    text="""
    A cluster is one document; what stands behind a second `---` would be lost without a word.

    Wrong:
        name: ml50
        ---
        name: ml51
    Right:
        name: ml50
    """,
)
KEY_TWICE = Explained(
    code="GEN-YAML-008",
    title="a key is given once",
    text="""
    Most YAML readers silently keep the last of two equal keys, so half of an edit or merge gets lost.

    Wrong:
        mtu: 9000
        mtu: 1500
    Right:
        mtu: 9000
    """,
)
KEY_NO_TEXT = Explained(
    code="GEN-YAML-009",
    title="keys are text",
    text="""
    JSON, and so Kubernetes, knows only text as a key; 1 and true are a number and a truth value.

    Wrong:
        1: r1
    Right:
        "1": r1
    """,
)
ANCHOR = Explained(
    code="GEN-YAML-010",
    title="no anchors or aliases",
    text="""
    With an alias one edit changes two places that a reviewer does not see together. Hardware is shared through pools
    instead. A plain text that begins with * or & needs quotes.

    Wrong:
        node: &mtu 9000
        storage: *mtu
    Right:
        node: 9000
        storage: 9000
    """,
)
TAG = Explained(
    code="GEN-YAML-011",
    title="no tags",
    text="""
    A tag asks the reader to make something special of a value; programs differ in what they make.

    Wrong:
        version: !!str 1.35
    Right:
        version: "1.35"
    """,
)
MERGE_KEY = Explained(
    code="GEN-YAML-012",
    title="no merge keys",
    text="""
    YAML 1.2 has no merge keys: some readers merge, others see a key named <<.

    Wrong:
        gpu:
          <<: {mtu: 9000}
    Right:
        gpu:
          mtu: 9000
    """,
)
TOO_DEEP = Explained(
    code="GEN-YAML-013",
    title="not nested too deep",
    text=f"""
    No cluster file nests deeper than about ten levels; 64 are a mistake or an attack on the reader.

    Wrong:
        a: {"[" * 64}{"]" * 64}
    Right:
        a: [[1]]
    """,
)
TOO_MANY = Explained(
    code="GEN-YAML-026",
    title="findings are told to a limit",
    text="""
    A file that is wrong a thousand times is wrong in one way, or is another file; the first findings tell.

    Wrong:
        (a file with more than a thousand mistakes)
    Right:
        name: ml50
    """,
)
