"""What `gen explain` tells about what is no YAML: the parser's own errors."""

from generator.model.rule import Explained

TAB = Explained(
    code="GEN-YAML-014",
    title="no tabs in indentation",
    text="""
    YAML allows only spaces there, because a tab is as wide as each editor likes.

    Wrong:
        spec:
        \tmtu: 9000
    Right:
        spec:
          mtu: 9000
    """,
)
BRACKET = Explained(
    code="GEN-YAML-015",
    title="brackets and braces match",
    text="""
    What a [ or { opens goes on until its own ] or }, over line ends as well. A # behind a blank begins a comment, and
    the ] or } in it closes nothing: text that begins with # is quoted.

    Wrong:
        hcas: [mlx5_0, mlx5_1
        rack: r1
    Right:
        hcas: [mlx5_0, mlx5_1]
        rack: r1
    """,
)
QUOTE = Explained(
    code="GEN-YAML-016",
    title="quotes are closed",
    text="""
    A quoted text goes on over line ends until its closing quote, and swallows the keys between.

    Wrong:
        name: "ml50
        rack: "r1"
    Right:
        name: "ml50"
        rack: "r1"
    """,
)
UNQUOTED = Explained(
    code="GEN-YAML-017",
    title="text with special characters is quoted",
    text="""
    A value that begins with * & ! @ ` % or { means something else to YAML, and nothing may follow a closing quote or
    brace.

    Wrong:
        schedule: */5 * * * *
    Right:
        schedule: "*/5 * * * *"
    """,
)
INDENTATION = Explained(
    code="GEN-YAML-018",
    title="indentation fits the lines above",
    text="""
    Indentation alone says what belongs to what: the keys of one mapping, and the items of one list, begin in the same
    column.

    Wrong:
        node:
           mtu: 9000
          cidr: 10.10.0.0/22
    Right:
        node:
          mtu: 9000
          cidr: 10.10.0.0/22
    """,
)
COLON_IN_VALUE = Explained(
    code="GEN-YAML-019",
    title="no colon and blank inside a plain value",
    text="""
    A colon followed by a blank ends a key, so a text that contains one needs quotes.

    Wrong:
        message: disk full: call the operator
    Right:
        message: "disk full: call the operator"
    """,
)
NO_COLON = Explained(
    code="GEN-YAML-020",
    title="a key ends with a colon and a blank",
    text="""
    Without the colon, or without a blank or line end behind it, the line is text and not a key.

    Wrong:
        name ml50
        rack: r1
    Right:
        name: ml50
        rack: r1
    """,
)
ESCAPE = Explained(
    code="GEN-YAML-021",
    title="escapes in double quotes are known ones",
    text="""
    In double quotes a backslash begins an escape such as \\n; single quotes take it as it is.

    Wrong:
        pattern: "gpu-\\d+"
    Right:
        pattern: 'gpu-\\d+'
    """,
)
BLOCK_TEXT = Explained(
    code="GEN-YAML-022",
    title="block text begins on its own line",
    text="""
    Behind | or > only + or -, a digit and a comment may stand; the text begins on the next line.

    Wrong:
        script: | echo done
    Right:
        script: |
          echo done
    """,
)
DIRECTIVE = Explained(
    code="GEN-YAML-023",
    title="no YAML directives",
    text="""
    %YAML and %TAG lines change what the rest of the file means, and not for every reader.

    Wrong:
        %YAML 1.1
        ---
        name: ml50
    Right:
        name: ml50
    """,
)
NUMBER = Explained(
    code="GEN-YAML-024",
    title="numbers that every reader can hold",
    text="""
    JSON has no infinity and no NaN, and Kubernetes reads integers of 64 bits.

    Wrong:
        memory: 123456789012345678901234567890
    Right:
        memory: 1234567890
    """,
)
NO_YAML = Explained(
    code="GEN-YAML-025",
    title="the file is YAML",
    text="""
    The text does not follow YAML's grammar in some rarer way; the message has the parser's own words.

    Wrong:
        {name: ml50}
        rack: r1
    Right:
        name: ml50
        rack: r1
    """,
)
