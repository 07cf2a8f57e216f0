package tts

import (
	"strconv"
	"strings"
)

const (
	monthNames = `January|February|March|April|May|June|July|August|September|October|November|December`
	monthAbbrs = `Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec`
)

var months = strings.Split(monthNames, "|")

// month returns the name of the month of that number or abbreviation, "" where there is none.
func month(s string) string {
	if n, err := strconv.Atoi(s); err == nil {
		if n < 1 || n > 12 {
			return ""
		}
		return months[n-1]
	}
	for _, m := range months {
		if len(s) >= 3 && strings.EqualFold(m[:3], s[:3]) {
			return m
		}
	}
	return ""
}

// date says a date, with the year left out where it is "". It returns "" for a date that cannot be.
func date(y, m, d string) string {
	day, err := strconv.ParseInt(d, 10, 64)
	name := month(m)
	if err != nil || name == "" || day < 1 || day > 31 {
		return ""
	}
	said := name + " " + ordinal(day)
	if y == "" {
		return said
	}
	n, _ := strconv.ParseInt(y, 10, 64)
	if len(y) == 2 {
		if n += 2000; n > 2069 {
			n -= 100
		}
	}
	return said + ", " + year(n)
}

// clock says a time of the day. half is "am", "pm" or "".
func clock(h, m, half string) string {
	hour, _ := strconv.ParseInt(h, 10, 64)
	minute, _ := strconv.ParseInt(m, 10, 64)
	said := cardinal(hour)
	switch {
	case minute == 0 && half == "" && hour >= 1 && hour <= 12:
		said += " o'clock"
	case minute == 0 && half == "":
		said += " hundred"
	case minute > 0 && minute < 10:
		said += " oh " + cardinal(minute)
	case minute > 0:
		said += " " + cardinal(minute)
	}
	if half != "" {
		said += " " + strings.ToUpper(half[:1]) + "-M"
	}
	return said
}

// monthRules say months that are cut short.
func monthRules() []rule {
	return []rule{
		on(`\b(`+monthAbbrs+`)\.? ?[-–] ?(`+monthAbbrs+`)\b\.?`, func(m []string) string { return month(m[1]) + " to " + month(m[2]) }),
		on(`\b(`+monthNames+`) ?[-–] ?(`+monthNames+`)\b`, func(m []string) string { return m[1] + " to " + m[2] }),
		on(`\b(`+monthAbbrs+`)\.`, func(m []string) string { return month(m[1]) }),
	}
}

// timeRules say dates and times. In America the month comes before the day.
func timeRules(american bool) []rule {
	or := func(said, otherwise string) string {
		if said == "" {
			return otherwise
		}
		return said
	}
	// half is "a" or "p" from any of the ways to write it, and what stood behind it that ends the sentence.
	const half = `(?: ?([AaPp])(?:\.[Mm]\.|[Mm]\b))`
	return []rule{
		// 2024-03-05T14:30:00Z and 2024-03-05
		on(`\b(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?\b`, func(m []string) string {
			said := date(m[1], m[2], m[3])
			if said != "" && m[4] != "" {
				said += ", " + clock(m[4], m[5], "")
			}
			return or(said, m[0])
		}),
		// 2024/03/05
		on(`\b(\d{4})/(\d{2})/(\d{2})\b`, func(m []string) string { return or(date(m[1], m[2], m[3]), m[0]) }),
		// Monday 12/25
		on(`\b((?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,? |on )(\d{1,2})/(\d{1,2})($| of\b|[\s.,;!?)])`, func(m []string) string {
			first, second := date("", m[2], m[3]), date("", m[3], m[2])
			if !american {
				first, second = second, first
			}
			if first = or(first, second); first == "" || m[4] == " of" {
				return m[0]
			}
			return m[1] + first + m[4]
		}),
		// noon-1pm
		on(`\b([Nn]oon|[Mm]idnight) ?[-–—] ?(\d)`, func(m []string) string { return m[1] + " to " + m[2] }),
		on(`(\d) ?[-–—] ?(noon|midnight)\b`, func(m []string) string { return m[1] + " to " + m[2] }),
		// 03/05/2024
		on(`\b(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})\b`, func(m []string) string {
			first, second := date(m[3], m[1], m[2]), date(m[3], m[2], m[1])
			if !american {
				first, second = second, first
			}
			return or(or(first, second), m[0])
		}),
		// 5.3.2024 is written where the day comes first.
		on(`\b(\d{1,2})\.(\d{1,2})\.(\d{4})\b`, func(m []string) string { return or(date(m[3], m[2], m[1]), m[0]) }),
		on(`\b(0\d)\.(0[1-9]|1[0-2])\.(\d{2})\b`, func(m []string) string { return or(date(m[3], m[2], m[1]), m[0]) }),
		// June 3-5 and 3rd-5th
		on(`\b(`+monthNames+`|(?:`+monthAbbrs+`)\b\.?) (\d{1,2})(?:st|nd|rd|th)? ?[-–—] ?(\d{1,2})(?:st|nd|rd|th)?\b`, func(m []string) string {
			from, to := date("", m[1], m[2]), date("", m[1], m[3])
			if from == "" || to == "" {
				return m[0]
			}
			return from + " to " + strings.TrimPrefix(to, month(m[1])+" ")
		}),
		on(`\b(\d+(?:st|nd|rd|th)) ?[-–—] ?(\d+(?:st|nd|rd|th))\b`, func(m []string) string { return m[1] + " to " + m[2] }),
		// March 5th, 2024 and Mar. 5
		on(`\b(`+monthNames+`|(?:`+monthAbbrs+`)\b\.?) (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?\b`, func(m []string) string {
			return or(date(m[3], m[1], m[2]), m[0])
		}),
		// 5 March 2024 and the 5th of March
		on(`\b(the )?(\d{1,2})(?:st|nd|rd|th)? (?:of )?(`+monthNames+`|(?:`+monthAbbrs+`)\b\.?)(?:,? (\d{4})\b)?`, func(m []string) string {
			if date("", m[3], m[2]) == "" {
				return m[0]
			}
			n, _ := strconv.ParseInt(m[2], 10, 64)
			said := "the " + ordinal(n) + " of " + month(m[3])
			if m[4] != "" {
				y, _ := strconv.ParseInt(m[4], 10, 64)
				said += ", " + year(y)
			}
			return said
		}),
		// March 2024
		on(`\b(`+monthNames+`|(?:`+monthAbbrs+`)\b\.?) (\d{4})\b`, func(m []string) string {
			y, _ := strconv.ParseInt(m[2], 10, 64)
			return or(month(m[1]), m[1]) + " " + year(y)
		}),
		// 9am-5pm and 9:30-10:15
		on(`\b(\d{1,2}(?::\d{2})?`+half+`?) ?[-–—] ?(\d{1,2}(?::\d{2})?`+half+`?)`, func(m []string) string {
			if !strings.Contains(m[0], ":") && m[2]+m[4] == "" {
				return m[0] // 9-5 is any range.
			}
			return m[1] + " to " + m[3]
		}),
		// 10:30:15
		on(`\b([01]?\d|2[0-4]):([0-5]\d):([0-5]\d)\b`, func(m []string) string {
			seconds, _ := strconv.ParseInt(m[3], 10, 64)
			said := clock(m[1], m[2], "")
			if seconds > 0 {
				said += " and " + counted(strconv.FormatInt(seconds, 10), "second", "seconds")
			}
			return said
		}),
		// 10:30 pm
		on(`\b([01]?\d|2[0-4]):([0-5]\d)`+half, func(m []string) string { return clock(m[1], m[2], m[3]) }),
		on(`\b([01]?\d|2[0-4]):([0-5]\d)(?: (?:o'clock|hours|hrs))?\b`, func(m []string) string { return clock(m[1], m[2], "") }),
		// 3pm
		on(`\b(1[0-2]|0?[1-9])`+half, func(m []string) string { return clock(m[1], "0", m[2]) }),
		// The 1990s, the '90s, in her 20s
		on(`\b(\d{2})(\d0)['’]?s\b`, func(m []string) string {
			century, _ := strconv.ParseInt(m[1], 10, 64)
			if m[2] == "00" {
				return year(century*100) + "s"
			}
			return cardinal(century) + " " + decade(m[2])
		}),
		on(`(?:['’])?\b([2-9]0)['’]?s\b`, func(m []string) string { return decade(m[1]) }),
	}
}

// decade says "90" as "nineties".
func decade(s string) string {
	n, _ := strconv.ParseInt(s, 10, 64)
	said := cardinal(n)
	if strings.HasSuffix(said, "y") {
		return strings.TrimSuffix(said, "y") + "ies"
	}
	return said + "s"
}
