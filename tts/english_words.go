package tts

import "strings"

// abbreviations are said in full wherever they stand with their full stop.
var abbreviations = map[string]string{
	"dr": "Doctor", "mr": "Mister", "mrs": "Missus", "ms": "Miz", "prof": "Professor", "jr": "Junior", "sr": "Senior",
	"gov": "Governor", "gen": "General", "sgt": "Sergeant", "capt": "Captain", "lt": "Lieutenant", "col": "Colonel", "rev": "Reverend",
	"sen": "Senator", "rep": "Representative", "pres": "President", "hon": "Honorable", "mt": "Mount", "ft": "Fort",
	"ave": "Avenue", "blvd": "Boulevard", "rd": "Road", "ln": "Lane", "hwy": "Highway", "apt": "apartment", "fl": "floor",
	"vs": "versus", "approx": "approximately", "dept": "department", "est": "established", "inc": "Incorporated", "ltd": "Limited",
	"corp": "Corporation", "co": "Company", "fig": "figure", "vol": "volume", "pp": "pages", "tel": "telephone", "ext": "extension", "min": "minimum",
	"max": "maximum", "misc": "miscellaneous", "govt": "government", "assoc": "association", "ed": "edition", "intl": "international",
	"mon": "Monday", "tue": "Tuesday", "tues": "Tuesday", "wed": "Wednesday", "thu": "Thursday", "thur": "Thursday", "thurs": "Thursday",
	"fri": "Friday", "sat": "Saturday", "sun": "Sunday", "no": "number", "nos": "numbers",
}

// aheadOfNumber are said in full ahead of a number.
var aheadOfNumber = map[string]string{
	"p": "page", "ch": "chapter", "eq": "equation", "sec": "section", "art": "article", "tab": "table", "nr": "number", "ste": "suite", "bldg": "building",
	"ca": "circa", "c": "circa", "b": "born", "d": "died",
}

// closing are abbreviations with which a text may end.
const closing = `[Jj]r|[Ss]r|[Aa]ve|[Bb]lvd|[Rr]d|[Ll]n|[Hh]wy|[Ii]nc|[Ll]td|[Cc]orp|[Cc]o|[Mm]isc|[Dd]ept|[Gg]ovt|[Aa]ssoc|[Ii]ntl|` +
	`[Mm]on|[Tt]ues?|[Ww]ed|[Tt]hu(?:rs?)?|[Ff]ri`

// wordRules say abbreviations in full.
func wordRules() []rule {
	full := func(s string) string { return abbreviations[strings.ToLower(s)] }
	days := map[string]string{"Mon": "Monday", "Tue": "Tuesday", "Wed": "Wednesday", "Thu": "Thursday", "Fri": "Friday", "Sat": "Saturday", "Sun": "Sunday"}
	rank := on(`\b(Gov|Gen|Sgt|Capt|Lt|Col|Rev|Sen|Rep|Pres|Hon|Ft)\.( [A-Z])`, func(m []string) string { return full(m[1]) + m[2] })
	return []rule{
		on(`\b([AaPp])\.[Mm]\. (E[SD]?T|P[SD]?T|C[SD]?T|M[SD]T|GMT|UTC|BST|CET|CEST)\b`, func(m []string) string { return m[1] + "m " + m[2] }),
		on(`\b([AaPp])\.[Mm]\.(\s+["“]?[A-Z]|\s*$)`, func(m []string) string { return m[1] + "m." + m[2] }),
		on(`\b([AaPp])\.[Mm]\.`, func(m []string) string { return m[1] + "m" }),
		on(`\b[Ee]\.\s?[Gg]\.,?`, func([]string) string { return "for example," }),
		on(`\b[Ii]\.\s?[Ee]\.,?`, func([]string) string { return "that is," }),
		on(`\b[Ee]tc\.(\s+["“]?[A-Z]|\s*$)`, func(m []string) string { return "et cetera." + m[1] }),
		on(`\b[Ee]tc\b\.?`, func([]string) string { return "et cetera" }),
		on(`\b[Ee]t al\.`, func([]string) string { return "and others" }),
		on(`\b[Ii]\.\s?[Dd]\.`, func([]string) string { return "I-D" }),
		on(`\bPh\.?D\b\.?`, func([]string) string { return "P-H-D" }),
		on(`\b([CF])#`, func(m []string) string { return m[1] + " sharp" }),
		on(`\b[Pp]\.?[Ss]\.:?`, func([]string) string { return "P-S," }),
		on(`(^|[\s(])w/o\b`, func(m []string) string { return m[1] + "without" }),
		on(`(^|[\s(])w/\s?`, func(m []string) string { return m[1] + "with " }),
		on(`\bb/c\b`, func([]string) string { return "because" }),
		on(`\bs/he\b`, func([]string) string { return "she or he" }),
		on(`\b[Aa]\.?[Kk]\.?[Aa](?:\.|\b)`, func([]string) string { return "also known as" }),
		on(`\b[Cc]f\. `, func([]string) string { return "compare " }),
		on(`\b[Vv]iz\.`, func([]string) string { return "namely" }),
		on(`\b[Ff]eat\. `, func([]string) string { return "featuring " }),
		on(`\bRs\.? ?(\d)`, func(m []string) string { return "₹" + m[1] }),
		on(`\band/or\b`, func([]string) string { return "and or" }),
		on(`\b[Aa]\.?[Ss]\.?[Aa]\.?[Pp]\b\.?`, func([]string) string { return "as soon as possible" }),
		on(`\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)\.? ?[-–—] ?(Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b\.?`, func(m []string) string {
			return days[m[1]] + " to " + days[m[2]]
		}),
		on(`\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)(,? (?:`+monthNames+`|`+monthAbbrs+`|\d{1,2}(?:/| (?:`+monthNames+`|`+monthAbbrs+`)))\b)`, func(m []string) string {
			return days[m[1]] + m[2]
		}),
		// Words that are cut short ahead of a number.
		on(`\b([Pp]|[Cc]h|[Ee]q|[Ss]ec|[Aa]rt|[Tt]ab|[Nn]r|[Ss]te|[Bb]ldg|[Cc]a|[Cc])\. ?(\d)`, func(m []string) string {
			return aheadOfNumber[strings.ToLower(m[1])] + " " + m[2]
		}),
		on(`\b([bd])\. ?(\d{4})\b`, func(m []string) string { return aheadOfNumber[m[1]] + " " + m[2] }),
		on(`\bSts\. `, func([]string) string { return "Saints " }),
		on(`\bUniv\. `, func([]string) string { return "University " }),
		// Saint ahead of a name, Street behind one.
		on(`\bSt\.? ([A-Z][a-z])`, func(m []string) string { return "Saint " + m[1] }),
		on(`([A-Za-z0-9] )St\.(\s*$|\s+[A-Z])`, func(m []string) string { return m[1] + "Street." + m[2] }),
		on(`([A-Za-z0-9] )St\b\.?`, func(m []string) string { return m[1] + "Street" }),
		on(`\b(Dr|Mr|Mrs|Ms|Prof|Mt)\.?( [A-Z])`, func(m []string) string { return full(m[1]) + m[2] }),
		rank, rank, // Neighbours share a letter.
		on(`\b(Dr|Mr|Mrs|Ms|Prof)\.`, func(m []string) string { return full(m[1]) }),
		on(`\b([Nn]os?)\.? ?(\d)`, func(m []string) string {
			if !strings.Contains(m[0], ".") && m[1][0] == 'n' {
				return m[0] // "no 5"
			}
			return full(m[1]) + " " + m[2]
		}),
		on(`#\s?(\d)`, func(m []string) string { return "number " + m[1] }),
		on(`№ ?`, func([]string) string { return "number " }),
		// These keep the full stop where the text ends with it, and streets also ahead of a new sentence.
		on(`\b([Aa]ve|[Bb]lvd|[Rr]d|[Ll]n|[Hh]wy)\.(\s*$|\s+[A-Z])`, func(m []string) string { return full(m[1]) + "." + m[2] }),
		on(`\b(`+closing+`)\.(\s*$)`, func(m []string) string { return full(m[1]) + "." + m[2] }),
		on(`\b(`+closing+`)\.`, func(m []string) string { return full(m[1]) }),
		on(`\b([Vv]s|[Aa]pprox|[Ff]ig|[Vv]ol|pp|[Tt]el|[Ee]xt|[Mm]ax|[Aa]pt|[Ee]st)\.`, func(m []string) string { return full(m[1]) }),
		on(`\bvs\b`, func([]string) string { return "versus" }),
		on(`(\d ?)?\bmin\.`, func(m []string) string {
			if m[1] != "" {
				return m[0] // Minutes.
			}
			return "minimum"
		}),
	}
}
