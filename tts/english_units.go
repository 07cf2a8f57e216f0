package tts

import (
	"regexp"
	"slices"
	"strings"
)

// units names what follows a number, for one and for many.
var units = map[string][2]string{
	"km": {"kilometer", "kilometers"}, "m": {"meter", "meters"}, "cm": {"centimeter", "centimeters"}, "mm": {"millimeter", "millimeters"},
	"µm": {"micrometer", "micrometers"}, "nm": {"nanometer", "nanometers"}, "mi": {"mile", "miles"}, "ft": {"foot", "feet"}, "yd": {"yard", "yards"},
	"km²": {"square kilometer", "square kilometers"}, "km2": {"square kilometer", "square kilometers"},
	"m²": {"square meter", "square meters"}, "m2": {"square meter", "square meters"}, "m³": {"cubic meter", "cubic meters"}, "m3": {"cubic meter", "cubic meters"},
	"cm²": {"square centimeter", "square centimeters"}, "cm³": {"cubic centimeter", "cubic centimeters"},
	"sq ft": {"square foot", "square feet"}, "sq m": {"square meter", "square meters"}, "ha": {"hectare", "hectares"},
	"kg": {"kilogram", "kilograms"}, "g": {"gram", "grams"}, "mg": {"milligram", "milligrams"}, "µg": {"microgram", "micrograms"},
	"lb": {"pound", "pounds"}, "lbs": {"pound", "pounds"}, "oz": {"ounce", "ounces"},
	"l": {"liter", "liters"}, "L": {"liter", "liters"}, "ml": {"milliliter", "milliliters"}, "mL": {"milliliter", "milliliters"}, "cl": {"centiliter", "centiliters"},
	"gal": {"gallon", "gallons"}, "tbsp": {"tablespoon", "tablespoons"}, "tsp": {"teaspoon", "teaspoons"},
	"km/h": {"kilometer per hour", "kilometers per hour"}, "kmh": {"kilometer per hour", "kilometers per hour"}, "kph": {"kilometer per hour", "kilometers per hour"},
	"mph": {"mile per hour", "miles per hour"}, "m/s": {"meter per second", "meters per second"}, "m/s²": {"meter per second squared", "meters per second squared"},
	"rpm": {"revolution per minute", "revolutions per minute"}, "fps": {"frame per second", "frames per second"}, "bpm": {"beat per minute", "beats per minute"},
	" B": {"byte", "bytes"}, "kB": {"kilobyte", "kilobytes"}, "KB": {"kilobyte", "kilobytes"}, "MB": {"megabyte", "megabytes"}, "GB": {"gigabyte", "gigabytes"},
	"TB": {"terabyte", "terabytes"}, "PB": {"petabyte", "petabytes"}, "KiB": {"kibibyte", "kibibytes"}, "MiB": {"mebibyte", "mebibytes"}, "GiB": {"gibibyte", "gibibytes"},
	"kbps": {"kilobit per second", "kilobits per second"}, "Mbps": {"megabit per second", "megabits per second"}, "Gbps": {"gigabit per second", "gigabits per second"},
	"Mbit/s": {"megabit per second", "megabits per second"}, "MB/s": {"megabyte per second", "megabytes per second"}, "GB/s": {"gigabyte per second", "gigabytes per second"},
	"Hz": {"hertz", "hertz"}, "kHz": {"kilohertz", "kilohertz"}, "MHz": {"megahertz", "megahertz"}, "GHz": {"gigahertz", "gigahertz"},
	"W": {"watt", "watts"}, "kW": {"kilowatt", "kilowatts"}, "MW": {"megawatt", "megawatts"}, "kWh": {"kilowatt hour", "kilowatt hours"}, "Wh": {"watt hour", "watt hours"},
	"V": {"volt", "volts"}, "mA": {"milliampere", "milliamperes"}, "mAh": {"milliampere hour", "milliampere hours"}, "dB": {"decibel", "decibels"},
	"kcal": {"kilocalorie", "kilocalories"}, "cal": {"calorie", "calories"}, "kJ": {"kilojoule", "kilojoules"}, "hp": {"horsepower", "horsepower"},
	"bar": {"bar", "bar"}, "psi": {"P-S-I", "P-S-I"}, "hPa": {"hectopascal", "hectopascals"}, "px": {"pixel", "pixels"}, "MP": {"megapixel", "megapixels"},
	"ns": {"nanosecond", "nanoseconds"}, "µs": {"microsecond", "microseconds"}, "ms": {"millisecond", "milliseconds"}, "s": {"second", "seconds"}, "sec": {"second", "seconds"},
	"secs": {"second", "seconds"}, "min": {"minute", "minutes"}, "mins": {"minute", "minutes"}, "h": {"hour", "hours"}, "hr": {"hour", "hours"}, "hrs": {"hour", "hours"},
	"mo": {"month", "months"}, "mos": {"month", "months"}, "mcg": {"microgram", "micrograms"}, "cc": {"C-C", "C-C"}, "mmHg": {"millimeter of mercury", "millimeters of mercury"},
	"wk": {"week", "weeks"}, "wks": {"week", "weeks"}, "yr": {"year", "years"}, "yrs": {"year", "years"},
	"°C": {"degree Celsius", "degrees Celsius"}, "°F": {"degree Fahrenheit", "degrees Fahrenheit"}, "°": {"degree", "degrees"}, "ºC": {"degree Celsius", "degrees Celsius"},
	"℃": {"degree Celsius", "degrees Celsius"}, "℉": {"degree Fahrenheit", "degrees Fahrenheit"},
	"%": {"percent", "percent"}, "‰": {"per mille", "per mille"},
}

// per names what stands behind "per", as in 5 $/kg or 3 GB/day.
var per = map[string]string{"h": "hour", "hr": "hour", "s": "second", "sec": "second", "min": "minute", "day": "day", "week": "week", "month": "month",
	"mo": "month", "year": "year", "yr": "year", "kg": "kilogram", "km": "kilometer", "m": "meter", "person": "person", "night": "night", "l": "liter", "L": "liter", "dL": "deciliter", "mL": "milliliter", "ml": "milliliter", "m²": "square meter", "m³": "cubic meter",
	"ft²": "square foot", "lb": "pound", "oz": "ounce", "gal": "gallon", "hour": "hour", "minute": "minute", "user": "user", "seat": "seat", "GB": "gigabyte",
	"kWh": "kilowatt hour", "unit": "unit", "item": "item", "piece": "piece"}

// perPattern matches what stands behind "per", the longest first.
const perPattern = `person|minute|night|month|piece|week|year|hour|user|seat|unit|item|day|sec|min|kWh|gal|hr|mo|yr|kg|km|dL|mL|ml|m²|m³|ft²|lb|oz|GB|h|s|m|l|L`

// unitPattern matches any unit, the longest first.
func unitPattern() string {
	names := make([]string, 0, len(units))
	for u := range units {
		names = append(names, regexp.QuoteMeta(u))
	}
	slices.SortFunc(names, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return strings.Join(names, "|")
}

// continental is a number with a comma where English has a point.
var continental = regexp.MustCompile(`^[-−+]?\d+,\d{1,2}$`)

// part says a fraction of a unit, with what is whole ahead of it where there is any.
func part(whole, fraction string, unit [2]string) string {
	if whole != "" {
		return amount(whole) + " and " + strings.Replace(fraction, "one half", "a half", 1) + " " + unit[1]
	}
	if strings.HasPrefix(fraction, "one ") {
		return fraction + " " + unit[0]
	}
	article := "a "
	if strings.ContainsAny(unit[0][:1], "aeiou") || unit[0] == "hour" {
		article = "an "
	}
	return fraction + " of " + article + unit[0]
}

// unitRules say numbers with what they count.
func unitRules() []rule {
	const number = `([-−+]?(?:\d{1,3}(?:,\d{3})+|\d+,\d{1,2}|\d+)(?:\.\d+)?)`
	u := `(` + unitPattern() + `)`
	end := `($|[^\pL\pN²³])`
	said := func(number, unit string) string {
		n := units[unit]
		if continental.MatchString(number) {
			number = strings.Replace(number, ",", ".", 1)
		}
		return counted(number, n[0], n[1])
	}
	single := on(`(^|[^\w.,/])`+number+` ?`+u+`(?:/(`+perPattern+`))?`+end, func(m []string) string {
		if m[3] == "m" && m[5] == "'" || m[3] == "s" && strings.HasSuffix(m[2], "0") && !strings.Contains(m[0], " "+m[3]) {
			return m[0] // 1980s
		}
		text := m[1] + said(m[2], m[3])
		if m[4] != "" {
			text += " per " + per[m[4]]
		}
		return text + m[5]
	})
	return []rule{
		// The full stop of a unit that is cut short, where the sentence goes on.
		on(`(\d ?(?:mos?|hrs?|mins?|secs?|yrs?|wks?|lbs?|oz|ft|tbsp|tsp|gal|kg|km|cm|mm))\. ([a-z])`, func(m []string) string { return m[1] + " " + m[2] }),
		// 5'10" and 6'
		on(`\b(\d)['’′] ?(1[01]|\d)(?:["”″]|'')`, func(m []string) string { return counted(m[1], "foot", "feet") + " " + amount(m[2]) }),
		on(`\b([4-7])['’′] ?(1[01]|\d)\b`, func(m []string) string { return counted(m[1], "foot", "feet") + " " + amount(m[2]) }),
		on(`(^|[^\w'’‘])(\d{1,2})['’′]($|[\s.,;)])`, func(m []string) string { return m[1] + counted(m[2], "foot", "feet") + m[3] }),
		// 5 ft 3 in
		on(`\b(\d+) ?ft\.? ?(\d+) ?in\b\.?`, func(m []string) string {
			return counted(m[1], "foot", "feet") + " " + counted(m[2], "inch", "inches")
		}),
		on(`\b(\d+(?:\.\d+)?) in\.(\s*$)`, func(m []string) string { return counted(m[1], "inch", "inches") + "." + m[2] }),
		on(`\b(\d+(?:\.\d+)?) in\. `, func(m []string) string { return counted(m[1], "inch", "inches") + " " }),
		// 350F, 180C and 20 degrees C
		on(`\b(\d{2,3}) ?F\b|\b(\d{2,3})C\b`, func(m []string) string {
			if m[1] != "" {
				return m[1] + "°F"
			}
			return m[2] + "°C"
		}),
		on(`\b(\d+) degrees ([CF])\b`, func(m []string) string { return m[1] + "°" + m[2] }),
		on(`\b(\d+(?:\.\d+)?)[″]`, func(m []string) string { return counted(m[1], "inch", "inches") }),
		// 2h30 and 2h 30min
		on(`\b(\d+)(h|hrs?|min|m) ?(\d+)(min|m|s|sec|secs)?\b`, func(m []string) string {
			next := map[string]string{"h": "min", "hr": "min", "hrs": "min", "min": "s", "m": "s"}[m[2]]
			first := m[2]
			if first == "m" {
				first = "min"
			}
			return said(m[1], first) + " " + said(m[3], next)
		}),
		// 1/2 tsp, 1 1/2 h and ½ kg
		on(`\b(?:(\d{1,3})[ -])?(\d{1,2})/(\d{1,2}) ?`+u+end, func(m []string) string {
			return part(m[1], fraction(m[2], m[3]), units[m[4]]) + m[5]
		}),
		on(`(?:\b(\d{1,3}) ?)?([½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞]) ?`+u+end, func(m []string) string {
			return part(m[1], vulgar[m[2]], units[m[3]]) + m[4]
		}),
		// 5-10 km
		on(`([-−]?\b(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?) ?(?:°|%)? ?[-–—] ?((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?) ?`+u+end, func(m []string) string {
			return amount(m[1]) + " to " + said(m[2], m[3]) + m[4]
		}),
		// 10x10 cm
		on(`\b(\d+(?:\.\d+)?) ?[x×] ?(\d+(?:\.\d+)?) ?`+u+end, func(m []string) string {
			return amount(m[1]) + " by " + said(m[2], m[3]) + m[4]
		}),
		single,
		single, // Neighbours share the space between them.
	}
}
