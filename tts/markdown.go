package tts

import (
	"html"
	"regexp"
	"strings"
)

var (
	fence       = regexp.MustCompile("^\\s*(?:```+|~~~+)\\s*[\\w+#.-]*\\s*$")
	rulerLine   = regexp.MustCompile(`^\s*(?:(?:[-*_=]\s*){3,}|\|?[\s:|-]*-[\s:|-]*\|[\s:|-]*)$`)
	heading     = regexp.MustCompile(`^\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$`)
	quote       = regexp.MustCompile(`^\s*(?:>\s*)*>(?:\s+|$|([^\d\s=>]))`)
	bullet      = regexp.MustCompile(`^\s*[-*+•◦▪‣]\s+(?:\[[ xX]\]\s+)?`)
	numbered    = regexp.MustCompile(`^\s*(\d{1,3})[.)]\s+(\S)`)
	tableRow    = regexp.MustCompile(`^\s*\|.*\|\s*$`)
	footnote    = regexp.MustCompile(`\[(?:\^[^\]\s]{1,40}|\d{1,3})\]:?`)
	image       = regexp.MustCompile(`!\[([^\]]*)\]\([^)\s]*(?:\s+"[^"]*")?\)`)
	link        = regexp.MustCompile(`\[([^\]]*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+"[^"]*")?\)`)
	referenced  = regexp.MustCompile(`\[([^\]]+)\]\[[^\]]*\]`)
	definition  = regexp.MustCompile(`^\s{0,3}\[[^\]]+\]:\s+\S+.*$`)
	autolink    = regexp.MustCompile(`<((?:https?://|mailto:)?[^\s<>]*[.@][^\s<>]*)>`)
	comment     = regexp.MustCompile(`(?s)<!--.*?-->`)
	breakTag    = regexp.MustCompile(`(?i)<(?:br|/p|/li|/h[1-6]|/div|/tr)\s*/?>`)
	tag         = regexp.MustCompile(`</?[A-Za-z][A-Za-z0-9-]*(?:\s+[^<>]*)?/?>`)
	inlineCode  = regexp.MustCompile("`+([^`\n]+)`+")
	escaped     = regexp.MustCompile("\\\\([\\\\`*_{}\\[\\]()#+.!|>~-])")
	bold        = regexp.MustCompile(`\*\*\*?(\S(?:[^*]*?\S)?)\*\*\*?`)
	italic      = regexp.MustCompile(`(^|[^\w*])\*([^\s*](?:[^*\n]*?[^\s*])?)\*($|[^\w*])`)
	underBold   = regexp.MustCompile(`(^|\W)___?(\S(?:[^_]*?\S)?)___?($|\W)`)
	underItalic = regexp.MustCompile(`(^|[^\w])_([^\s_](?:[^_\n]*?[^\s_])?)_($|[^\w])`)
	struck      = regexp.MustCompile(`~~(\S(?:[^~]*?\S)?)~~`)
	endsOpen    = regexp.MustCompile(`[^.,;:?!…\s]["”’)*_~]*\s*$`)
)

// stripMarkdown returns what Markdown, and the HTML that is mixed into it, looks like when it is read: the text of links,
// lists and headings as sentences of their own, and no marks.
func stripMarkdown(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n").Replace(text)
	text = comment.ReplaceAllString(text, " ")
	text = breakTag.ReplaceAllString(text, "\n")

	var b strings.Builder
	lines := strings.Split(text, "\n")
	open := false // Whether the text so far ends in a line that reads on.
	for i, line := range lines {
		block := false // Whether the line is a sentence of its own.
		switch {
		case fence.MatchString(line), rulerLine.MatchString(line), definition.MatchString(line):
			line = ""
		case heading.MatchString(line):
			line, block = heading.ReplaceAllString(line, "$1"), true
		default:
			line = quote.ReplaceAllString(line, "$1")
			switch {
			case bullet.MatchString(line):
				line, block = bullet.ReplaceAllString(line, ""), true
			case numbered.MatchString(line):
				line, block = numbered.ReplaceAllString(line, "$1: $2"), len(lines) > 1
			case tableRow.MatchString(line):
				line, block = strings.ReplaceAll(strings.Trim(strings.TrimSpace(line), "|"), "|", ","), true
			}
		}
		line = stripInline(line)
		blank := strings.TrimSpace(line) == ""
		if open && (block || blank) {
			b.WriteByte('.')
			open = false
		}
		if blank {
			continue
		}
		b.WriteByte('\n')
		b.WriteString(line)
		open = endsOpen.MatchString(line)
		if open && block && i < len(lines)-1 {
			b.WriteByte('.')
			open = false
		}
	}
	return strings.ReplaceAll(b.String(), "\n", " ")
}

// stripInline removes the marks inside of a line.
func stripInline(line string) string {
	line = stripLaTeX(line)
	line = image.ReplaceAllString(line, "$1")
	line = link.ReplaceAllString(line, "$1")
	line = referenced.ReplaceAllString(line, "$1")
	line = footnote.ReplaceAllString(line, "")
	line = autolink.ReplaceAllString(line, "$1")
	line = tag.ReplaceAllString(line, " ")
	line = html.UnescapeString(line)
	line = inlineCode.ReplaceAllString(line, "$1")
	line = escaped.ReplaceAllString(line, "$1")
	line = bold.ReplaceAllString(line, "$1")
	line = struck.ReplaceAllString(line, "$1")
	line = underBold.ReplaceAllString(line, "$1$2$3")
	for range 2 { // Two that share the space between them are not found at once.
		line = italic.ReplaceAllString(line, "$1$2$3")
		line = underItalic.ReplaceAllString(line, "$1$2$3")
	}
	return line
}
