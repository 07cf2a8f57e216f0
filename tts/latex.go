package tts

import "regexp"

// latexRules turn the mathematics that language models write in LaTeX into signs, which the rules of a language can say.
var latexRules = []rule{
	on(`\$\$(.+?)\$\$`, first),
	// What stands between dollars begins with no digit, since "$5 and $6" are money.
	on(`(^|[\s(])\$([^\s$\d][^$\n]*[^\s$]|[A-Za-z])\$($|[\s.,;:!?)])`, func(m []string) string { return m[1] + m[2] + m[3] }),
	on(`\\[()\[\]]`, func([]string) string { return " " }),
	on(`\\d?frac\{([^{}]*)\}\{([^{}]*)\}`, func(m []string) string { return m[1] + " over " + m[2] }),
	on(`\\sqrt\{([^{}]*)\}`, func(m []string) string { return "√" + m[1] }),
	on(`\\(?:text|mathrm|mathbf|mathit|operatorname|textbf|textit|boxed)\{([^{}]*)\}`, first),
	on(`\^\{([^{}]*)\}`, func(m []string) string { return "^" + m[1] }),
	on(`_\{([^{}]*)\}`, func(m []string) string { return " " + m[1] }),
	on(`\\(times|cdot|div|pm|leq?|geq?|neq?|approx|infty|pi|rightarrow|to|ldots|dots|quad|left|right)\b`, func(m []string) string { return latexSigns[m[1]] }),
}

// latexSigns are the signs that commands stand for.
var latexSigns = map[string]string{
	"times": "×", "cdot": "×", "div": "÷", "pm": "±", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "neq": "≠", "approx": "≈",
	"infty": "∞", "pi": "π", "rightarrow": "→", "to": "→", "ldots": "…", "dots": "…", "quad": " ", "left": "", "right": "",
}

// latex is what tells that there may be something to do.
var latex = regexp.MustCompile(`[\\$]`)

func first(m []string) string { return m[1] }

// stripLaTeX returns a line without LaTeX.
func stripLaTeX(line string) string {
	if !latex.MatchString(line) {
		return line
	}
	return applyAll(latexRules, line)
}
