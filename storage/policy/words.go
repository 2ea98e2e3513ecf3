package policy

import (
	"strconv"
	"strings"
)

// A setting is one option word: how its value is read and written.
type setting struct {
	name   string
	field  Fields
	parse  func(text string, into *Settings) error
	format func(Settings) string
}

var settings = [...]setting{
	{"ERROR", FieldError, parseError, func(s Settings) string { return formatError(s.Error) }},
	{"PERIOD", FieldPeriod, func(text string, into *Settings) (err error) {
		into.Period, err = ParsePeriod(text)
		return err
	}, func(s Settings) string { return s.Period.String() }},
	{"KEEP", FieldKeep, parseKeep, func(s Settings) string { return formatInt(s.Keep) }},
	{"ZONE", FieldZone, func(text string, into *Settings) (err error) {
		into.Zone, err = ParseZone(text)
		return err
	}, func(s Settings) string { return s.Zone.String() }},
	{"DELIVERED", FieldDelivered, parseDelivered, func(s Settings) string { return formatInt(s.Delivered) }},
	{"DELIVEREDTTL", FieldDeliveredTTL, parseDeliveredTTL, func(s Settings) string { return formatDuration(s.DeliveredTTL) }},
}

// ParseWords reads option words and their values, in any order and case:
// ERROR e, PERIOD p, KEEP n, ZONE z, DELIVERED n, DELIVEREDTTL d. Only the
// allowed ones are known. No words are an empty Partial.
func ParseWords(words [][]byte, allowed Fields) (Partial, error) {
	var p Partial
	for len(words) > 0 {
		s := settingNamed(words[0], allowed)
		switch {
		case s == nil:
			return Partial{}, refuse("syntax error, %s is none of %s", quoted(string(words[0])), namesOf(allowed))
		case p.Given&s.field != 0:
			return Partial{}, refuse("syntax error, %s is given twice", s.name)
		case len(words) == 1:
			return Partial{}, refuse("syntax error, %s has no value", s.name)
		}
		if err := s.parse(string(words[1]), &p.Values); err != nil {
			return Partial{}, err
		}
		p.Given |= s.field
		words = words[2:]
	}
	return p, nil
}

func settingNamed(word []byte, allowed Fields) *setting {
	for i := range settings {
		s := &settings[i]
		if s.field&allowed != 0 && len(word) == len(s.name) && strings.EqualFold(s.name, string(word)) {
			return s
		}
	}
	return nil
}

func namesOf(fields Fields) string {
	var names []string
	for _, s := range settings {
		if s.field&fields != 0 {
			names = append(names, s.name)
		}
	}
	return strings.Join(names, ", ")
}

// Words renders the given settings as words that ParseWords reads back.
func (p Partial) Words() []string {
	var words []string
	for _, s := range settings {
		if p.Given&s.field != 0 {
			words = append(words, s.name, s.format(p.Values))
		}
	}
	return words
}

// Words renders all settings.
func (s Settings) Words() []string { return Partial{Given: AllFields, Values: s}.Words() }

func (s Settings) String() string { return strings.Join(s.Words(), " ") }
func (p Partial) String() string  { return strings.Join(p.Words(), " ") }

// parseError reads plain decimal numbers only, so that what is accepted does
// not depend on a library's taste for hex, underscores or "inf".
func parseError(text string, into *Settings) error {
	for i := 0; i < len(text); i++ {
		if c := text[i]; !isDigit(c) && c != '.' && (i == 0 || c != 'e' && c != 'E' && c != '-' && c != '+') {
			return errorError(text)
		}
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || !(value >= 0 && value < 1) || value == 0 && strings.ContainsAny(text, "123456789") && !zeroMantissa(text) {
		return errorError(text)
	}
	into.Error = value
	return nil
}

// zeroMantissa tells 0e5, which is 0, from 1e-400, which only rounds to it.
func zeroMantissa(text string) bool {
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	return !strings.ContainsAny(mantissa, "123456789")
}

func parseKeep(text string, into *Settings) error {
	n, ok := parseCount(text)
	if !ok || n < MinKeep || n > MaxKeep {
		return keepError(text)
	}
	into.Keep = n
	return nil
}

func parseDelivered(text string, into *Settings) error {
	n, ok := parseCount(text)
	if !ok || n < MinDelivered || n > MaxDelivered {
		return deliveredError(text)
	}
	into.Delivered = n
	return nil
}

func parseDeliveredTTL(text string, into *Settings) error {
	ms, ok := parseDuration(text)
	if !ok || ms < MinDeliveredTTL || ms > MaxDeliveredTTL {
		return deliveredTTLError(text)
	}
	into.DeliveredTTL = ms
	return nil
}

func errorError(text string) error {
	return refuse("ERROR must be 0 (exact) or a decimal number above 0 and below 1, not %s", quoted(text))
}

func keepError(text string) error {
	return refuse("KEEP must be a number of windows from %d to %d, not %s", MinKeep, MaxKeep, quoted(text))
}

func deliveredError(text string) error {
	return refuse("DELIVERED must be a number of items from %d to %d, not %s", MinDelivered, MaxDelivered, quoted(text))
}

func deliveredTTLError(text string) error {
	return refuse("DELIVEREDTTL must be a duration from %s to %s such as 10m, not %s",
		formatDuration(MinDeliveredTTL), formatDuration(MaxDeliveredTTL), quoted(text))
}

func formatError(e float64) string { return strconv.FormatFloat(e, 'g', -1, 64) }
func formatInt(n int64) string     { return strconv.FormatInt(n, 10) }
