package commit

import (
	"bytes"
	"fmt"
	"strings"
)

// config is a git configuration file: values by "section.key" or
// "section.subsection.key", in the order of the file. Section and key are in
// lower case, the subsection is as written. A key before the first section
// stands alone, as in git.
type config map[string][]string

// last returns the value that counts for a variable with one value.
func (c config) last(key string) (string, bool) {
	vs := c[key]
	if len(vs) == 0 {
		return "", false
	}
	return vs[len(vs)-1], true
}

// truth is git's boolean; what is not one counts as true, like an empty
// assignment of a flag counts as false.
func (c config) truth(key string) bool {
	v, ok := c.last(key)
	switch strings.ToLower(v) {
	case "false", "no", "off", "0", "":
		return false
	}
	return ok
}

// merge appends the values of another file that is read later.
func (c config) merge(o config) {
	for k, vs := range o {
		c[k] = append(c[k], vs...)
	}
}

// parseConfig reads the syntax of git-config(1). A key without "=" has the
// value "true". Included files are not read. The error names the line and
// never a value: URLs hold passwords.
func parseConfig(data []byte) (config, error) {
	p := &configParser{data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), line: 1}
	c := config{}
	section := ""
	for {
		switch b, ok := p.next(); {
		case !ok:
			return c, nil
		case isConfigSpace(b):
		case b == '#' || b == ';':
			p.skipLine()
		case b == '[':
			if section, ok = p.section(); !ok {
				return nil, fmt.Errorf("line %d: bad section header", p.line)
			}
		case isAlpha(b):
			line := p.line
			key, value, ok := p.variable(b)
			if !ok {
				return nil, fmt.Errorf("line %d: bad variable", line)
			}
			if section != "" {
				key = section + "." + key
			}
			c[key] = append(c[key], value)
		default:
			return nil, fmt.Errorf("line %d: unexpected character", p.line)
		}
	}
}

type configParser struct {
	data []byte
	line int
}

// next returns the next byte; "\r\n" is one newline.
func (p *configParser) next() (byte, bool) {
	if len(p.data) == 0 {
		return 0, false
	}
	b := p.data[0]
	p.data = p.data[1:]
	if b == '\r' && len(p.data) > 0 && p.data[0] == '\n' {
		b = '\n'
		p.data = p.data[1:]
	}
	if b == '\n' {
		p.line++
	}
	return b, true
}

func (p *configParser) skipLine() {
	for {
		if b, ok := p.next(); !ok || b == '\n' {
			return
		}
	}
}

// section reads what follows "[".
func (p *configParser) section() (string, bool) {
	var name []byte
	for {
		b, ok := p.next()
		switch {
		case !ok:
			return "", false
		case b == ']':
			return strings.ToLower(string(name)), len(name) > 0
		case b == ' ' || b == '\t':
			sub, ok := p.subsection()
			return strings.ToLower(string(name)) + "." + sub, ok && len(name) > 0
		case isAlpha(b) || isDigit(b) || b == '-' || b == '.':
			name = append(name, b)
		default:
			return "", false
		}
	}
}

// subsection reads `"name"]`.
func (p *configParser) subsection() (string, bool) {
	b, ok := p.next()
	for ok && (b == ' ' || b == '\t') {
		b, ok = p.next()
	}
	if !ok || b != '"' {
		return "", false
	}
	var sub []byte
	for {
		b, ok := p.next()
		switch {
		case !ok || b == '\n':
			return "", false
		case b == '"':
			b, ok := p.next()
			return string(sub), ok && b == ']'
		case b == '\\':
			if b, ok = p.next(); !ok || b == '\n' {
				return "", false
			}
		}
		sub = append(sub, b)
	}
}

// variable reads "key", "key = value" up to the end of the line.
func (p *configParser) variable(first byte) (key, value string, ok bool) {
	name := []byte{first}
	b, more := p.next()
	for more && (isAlpha(b) || isDigit(b) || b == '-') {
		name = append(name, b)
		b, more = p.next()
	}
	key = strings.ToLower(string(name))
	for more && (b == ' ' || b == '\t') {
		b, more = p.next()
	}
	switch {
	case !more || b == '\n':
		return key, "true", true
	case b == '#' || b == ';':
		// git refuses a comment before "=", and so does this.
		return "", "", false
	case b != '=':
		return "", "", false
	}
	value, ok = p.value()
	return key, value, ok
}

// value reads what follows "=": quotes, escapes, continued lines, comments.
// White space outside quotes is trimmed at both ends and kept inside.
func (p *configParser) value() (string, bool) {
	var v, spaces []byte
	quoted, comment := false, false
	for {
		b, ok := p.next()
		switch {
		case !ok || b == '\n':
			return string(v), !quoted
		case comment:
			continue
		case isConfigSpace(b) && !quoted:
			if len(v) > 0 {
				spaces = append(spaces, b)
			}
			continue
		case (b == ';' || b == '#') && !quoted:
			comment = true
			continue
		}
		v, spaces = append(v, spaces...), spaces[:0]
		switch b {
		case '"':
			quoted = !quoted
		case '\\':
			e, ok := p.next()
			if !ok {
				return "", false
			}
			switch e {
			case '\n':
			case 't':
				v = append(v, '\t')
			case 'b':
				v = append(v, '\b')
			case 'n':
				v = append(v, '\n')
			case '\\', '"':
				v = append(v, e)
			default:
				return "", false
			}
		default:
			v = append(v, b)
		}
	}
}

func isConfigSpace(b byte) bool {
	return b == ' ' || b == '\t' || b == '\n' || b == '\r' || b == '\v' || b == '\f'
}

func isAlpha(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }
func isDigit(b byte) bool { return '0' <= b && b <= '9' }
