# Finds files, functions and lines over the limits in one C++ file. A function is a brace block behind a parameter list, outside of any other function.
# POSIX awk: a bare Debian has only mawk.

function report(line, what) {
    printf "%s:%d: %s\n", file, line, what
    failed = 1
}

# The line without comments, and with every string and character literal replaced by 0; keeps track of what continues on the next line.
function code_of(text,    result, c, two, end) {
    result = ""
    while (text != "") {
        if (raw_end != "") {
            end = index(text, raw_end)
            if (!end) return result
            text = substr(text, end + length(raw_end)); raw_end = ""; result = result "0"
            continue
        }
        if (in_comment) {
            end = index(text, "*/")
            if (!end) return result
            text = substr(text, end + 2); in_comment = 0
            continue
        }
        c = substr(text, 1, 1); two = substr(text, 1, 2)
        if (two == "//") return result
        if (two == "/*") { in_comment = 1; text = substr(text, 3); continue }
        if (two == "R\"" && result !~ /[A-Za-z0-9_]$/) {
            end = index(text, "(")
            raw_end = ")" substr(text, 3, end - 3) "\""
            text = substr(text, end + 1)
            continue
        }
        if (c == "\"" || (c == "'" && result !~ /[0-9A-Fa-f]$/)) {
            if (match(text, c == "\"" ? /^"([^"\\]|\\.)*"/ : /^'([^'\\]|\\.)*'/)) {
                text = substr(text, RLENGTH + 1); result = result "0"
                continue
            }
        }
        result = result c
        text = substr(text, 2)
    }
    return result
}

function opens_function(text) {
    if (inside_function > 0 || text !~ /\(/) return 0
    return text !~ /^ *(namespace|class|struct|union|enum|extern)[^()]*$/
}

function open_brace() {
    depth++
    kind[depth] = opens_function(statement)
    inside_function += kind[depth]
    first[depth] = statement_line
    opened[depth] = NR
    saved[depth] = statement
    statement = ""
}

function close_brace(rest,    length_of) {
    statement = ""
    if (depth == 0) return
    # "name_{1} {" and "name_{1}, ..." go on: the braces were an initializer.
    if (opened[depth] == NR && rest ~ /^ *[{,]/) { statement = saved[depth] "0"; statement_line = first[depth] }
    inside_function -= kind[depth]
    length_of = NR - first[depth] + 1
    if (kind[depth] && length_of > 60) report(first[depth], "a function of " length_of " lines; the limit is 60")
    depth--
}

{
    # Columns: bytes minus UTF-8 continuation bytes, whatever the awk counts.
    columns = length($0); copy = $0
    if (length("µ") > 1) columns -= gsub(/[\200-\277]/, "", copy)
    if (columns > 160) report(NR, "a line of " columns " columns; the limit is 160")
}

/^[ \t]*#/ && raw_end == "" && !in_comment { next }

{
    code = code_of($0)
    for (i = 1; i <= length(code); i++) {
        c = substr(code, i, 1)
        if (c == "{") open_brace()
        else if (c == "}") close_brace(substr(code, i + 1))
        else if (c == ";" && statement !~ /\([^)]*$/) statement = ""
        else if (c != " " || statement != "") { if (statement == "") statement_line = NR; statement = statement c }
    }
    if (statement != "") statement = statement " "
}

END {
    if (NR > 400) report(NR, "a file of " NR " lines; the limit is 400")
    exit failed
}
