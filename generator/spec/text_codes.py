"""What `gen explain` tells about findings on the text of a cluster file: what is no YAML, or not YAML alone."""

from generator.model.rule import Explained

CONFLICT = Explained(
    code="GEN-YAML-001",
    title="no merge conflict markers",
    why="Git left both sides of a merge in the file; which one is meant, only a person can say.",
    wrong="<<<<<<< HEAD\nname: ml50\n=======\nname: ml51\n>>>>>>> more-nodes\n",
    right="name: ml51\n",
)
ENCODING = Explained(
    code="GEN-YAML-002",
    title="the file is UTF-8",
    why="In another encoding the same bytes are other text, and each program would read a different file.",
    wrong="(a file saved as Latin-1 or UTF-16)\n",
    right="(the same file saved as UTF-8)\n",
)
CHARACTER = Explained(
    code="GEN-YAML-003",
    title="no invisible or control characters",
    why="YAML forbids control characters, and characters that look like a blank, like nothing or like a line end "
    "are read differently by different programs. They mostly come from copying out of web pages and chats.",
    wrong="(a no-break space, a NUL, a lone carriage return, a second byte order mark)\n",
    right='name: "two\\u2028lines"\n',
)
TOO_LARGE = Explained(
    code="GEN-YAML-004",
    title="the file is not too large",
    why="A cluster of ten thousand nodes fits the limit several times over; a larger file is another file.",
    wrong="(a file of more than 8 MiB)\n",
    right="name: ml50\n",
)
EMPTY = Explained(
    code="GEN-YAML-005",
    title="the file is not empty",
    why="An empty file would describe a cluster without nodes, and its rendering would remove everything.",
    wrong="# nothing but comments\n",
    right="metadata:\n  name: ml50\n",
)
NO_MAPPING = Explained(
    code="GEN-YAML-006",
    title="the file is a mapping",
    why="A cluster file is keys with values: apiVersion, kind, metadata and spec.",
    wrong="- name: ml50\n",
    right="metadata:\n  name: ml50\n",
)
SECOND_DOCUMENT = Explained(
    code="GEN-YAML-007",
    title="one document in a file",
    why="A cluster is one document; what stands behind a second `---` would be lost without a word.",
    wrong="name: ml50\n---\nname: ml51\n",
    right="name: ml50\n",
)
KEY_TWICE = Explained(
    code="GEN-YAML-008",
    title="a key is given once",
    why="Most YAML readers silently keep the last of two equal keys, so half of an edit or merge gets lost.",
    wrong="mtu: 9000\nmtu: 1500\n",
    right="mtu: 9000\n",
)
KEY_NO_TEXT = Explained(
    code="GEN-YAML-009",
    title="keys are text",
    why="JSON, and so Kubernetes, knows only text as a key; 1 and true are a number and a truth value.",
    wrong="1: r1\n",
    right='"1": r1\n',
)
ANCHOR = Explained(
    code="GEN-YAML-010",
    title="no anchors or aliases",
    why="With an alias one edit changes two places that a reviewer does not see together. Hardware is shared "
    "through pools instead. A plain text that begins with * or & needs quotes.",
    wrong="node: &mtu 9000\nstorage: *mtu\n",
    right="node: 9000\nstorage: 9000\n",
)
TAG = Explained(
    code="GEN-YAML-011",
    title="no tags",
    why="A tag asks the reader to make something special of a value; programs differ in what they make.",
    wrong="version: !!str 1.35\n",
    right='version: "1.35"\n',
)
MERGE_KEY = Explained(
    code="GEN-YAML-012",
    title="no merge keys",
    why="YAML 1.2 has no merge keys: some readers merge, others see a key named <<.",
    wrong="gpu:\n  <<: {mtu: 9000}\n",
    right="gpu:\n  mtu: 9000\n",
)
TOO_DEEP = Explained(
    code="GEN-YAML-013",
    title="not nested too deep",
    why="No cluster file nests deeper than about ten levels; 64 are a mistake or an attack on the reader.",
    wrong=f"a: {'[' * 64}{']' * 64}\n",
    right="a: [[1]]\n",
)
TAB = Explained(
    code="GEN-YAML-014",
    title="no tabs in indentation",
    why="YAML allows only spaces there, because a tab is as wide as each editor likes.",
    wrong="spec:\n\tmtu: 9000\n",
    right="spec:\n  mtu: 9000\n",
)
BRACKET = Explained(
    code="GEN-YAML-015",
    title="brackets and braces match",
    why="What a [ or { opens goes on until its own ] or }, over line ends as well.",
    wrong="hcas: [mlx5_0, mlx5_1\nrack: r1\n",
    right="hcas: [mlx5_0, mlx5_1]\nrack: r1\n",
)
QUOTE = Explained(
    code="GEN-YAML-016",
    title="quotes are closed",
    why="A quoted text goes on over line ends until its closing quote, and swallows the keys between.",
    wrong='name: "ml50\nrack: "r1"\n',
    right='name: "ml50"\nrack: "r1"\n',
)
UNQUOTED = Explained(
    code="GEN-YAML-017",
    title="text with special characters is quoted",
    why="A value that begins with * & ! @ ` % or { means something else to YAML, and nothing may follow a closing "
    "quote or brace.",
    wrong="schedule: */5 * * * *\n",
    right='schedule: "*/5 * * * *"\n',
)
INDENTATION = Explained(
    code="GEN-YAML-018",
    title="indentation fits the lines above",
    why="Indentation alone says what belongs to what: the keys of one mapping, and the items of one list, begin "
    "in the same column.",
    wrong="node:\n   mtu: 9000\n  cidr: 10.10.0.0/22\n",
    right="node:\n  mtu: 9000\n  cidr: 10.10.0.0/22\n",
)
COLON_IN_VALUE = Explained(
    code="GEN-YAML-019",
    title="no colon and blank inside a plain value",
    why="A colon followed by a blank ends a key, so a text that contains one needs quotes.",
    wrong="message: disk full: call the operator\n",
    right='message: "disk full: call the operator"\n',
)
NO_COLON = Explained(
    code="GEN-YAML-020",
    title="a key ends with a colon and a blank",
    why="Without the colon, or without a blank or line end behind it, the line is text and not a key.",
    wrong="name ml50\nrack: r1\n",
    right="name: ml50\nrack: r1\n",
)
ESCAPE = Explained(
    code="GEN-YAML-021",
    title="escapes in double quotes are known ones",
    why="In double quotes a backslash begins an escape such as \\n; single quotes take it as it is.",
    wrong='pattern: "gpu-\\d+"\n',
    right="pattern: 'gpu-\\d+'\n",
)
BLOCK_TEXT = Explained(
    code="GEN-YAML-022",
    title="block text begins on its own line",
    why="Behind | or > only + or -, a digit and a comment may stand; the text begins on the next line.",
    wrong="script: | echo done\n",
    right="script: |\n  echo done\n",
)
DIRECTIVE = Explained(
    code="GEN-YAML-023",
    title="no YAML directives",
    why="%YAML and %TAG lines change what the rest of the file means, and not for every reader.",
    wrong="%YAML 1.1\n---\nname: ml50\n",
    right="name: ml50\n",
)
NUMBER = Explained(
    code="GEN-YAML-024",
    title="numbers that every reader can hold",
    why="JSON has no infinity and no NaN, and Kubernetes reads integers of 64 bits.",
    wrong="memory: 123456789012345678901234567890\n",
    right="memory: 1234567890\n",
)
NO_YAML = Explained(
    code="GEN-YAML-025",
    title="the file is YAML",
    why="The text does not follow YAML's grammar in some rarer way; the message has the parser's own words.",
    wrong="{name: ml50}\nrack: r1\n",
    right="name: ml50\nrack: r1\n",
)
TOO_MANY = Explained(
    code="GEN-YAML-026",
    title="findings are told to a limit",
    why="A file that is wrong a thousand times is wrong in one way, or is another file; the first findings tell.",
    wrong="(a file with more than a thousand mistakes)\n",
    right="name: ml50\n",
)
