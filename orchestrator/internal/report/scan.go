package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// scanner reads one JSON value of a known shape and shows every string in it
// that may hold a name, map keys included. It is strict: a member that the shape
// does not have, in exactly its spelling, is an error, since nobody could have
// looked at it.
type scanner struct {
	data []byte
	at   int
	// show gets a string. It may keep the bytes only until it returns.
	show func([]byte) error
}

var errJSON = errors.New("not a record of the report")

// scan reads data whole.
func (s *shape) scan(data []byte, show func([]byte) error) error {
	in := scanner{data: data, show: show}
	if err := in.value(s); err != nil {
		return err
	}
	if in.space(); in.at < len(data) {
		return errors.New("text follows the record")
	}
	return nil
}

func (in *scanner) space() {
	for in.at < len(in.data) {
		switch in.data[in.at] {
		case ' ', '\t', '\n', '\r':
			in.at++
		default:
			return
		}
	}
}

// next returns the next byte that is no space and passes it, 0 at the end.
func (in *scanner) next() byte {
	in.space()
	if in.at == len(in.data) {
		return 0
	}
	in.at++
	return in.data[in.at-1]
}

func (in *scanner) value(s *shape) error {
	switch s.kind {
	case reflect.String:
		text, err := in.text()
		if err != nil {
			return err
		}
		if s.word != "" && isWord(s.word, text) {
			return nil
		}
		return in.show(text)
	case reflect.Struct:
		next := 0
		return in.members(func(name []byte) error {
			// The writer keeps the order and may leave fields out.
			for i := next; i < len(s.fields) && i < next+4; i++ {
				if s.fields[i].name == string(name) {
					next = i + 1
					return in.value(s.fields[i].shape)
				}
			}
			field, ok := s.byName[string(name)]
			if !ok {
				return fmt.Errorf("unknown field %q", name)
			}
			return in.value(field)
		})
	case reflect.Map:
		return in.members(func(name []byte) error {
			if s.strings {
				if err := in.show(name); err != nil {
					return err
				}
			}
			return in.plain()
		})
	case reflect.Slice:
		return in.list(s.elem)
	}
	return in.plain()
}

// plain passes a number, true or false.
func (in *scanner) plain() error {
	in.space()
	start := in.at
	for in.at < len(in.data) {
		b := in.data[in.at]
		if ('0' > b || b > '9') && ('a' > b || b > 'z') && b != '-' && b != '+' && b != '.' && b != 'E' {
			break
		}
		in.at++
	}
	if !json.Valid(in.data[start:in.at]) {
		return errJSON
	}
	return nil
}

// text passes a string and returns what it says.
func (in *scanner) text() ([]byte, error) {
	if in.next() != '"' {
		return nil, errJSON
	}
	start := in.at
	for in.at < len(in.data) {
		switch b := in.data[in.at]; {
		case b == '"':
			in.at++
			return in.data[start : in.at-1], nil
		case b == '\\' || b < ' ' || b >= utf8.RuneSelf:
			return in.escaped(start - 1)
		}
		in.at++
	}
	return nil, errJSON
}

// escaped is text for strings that do not stand as they are.
func (in *scanner) escaped(start int) ([]byte, error) {
	for in.at < len(in.data) && in.data[in.at] != '"' {
		if in.data[in.at] == '\\' {
			in.at++
		}
		in.at++
	}
	if in.at >= len(in.data) {
		return nil, errJSON
	}
	in.at++
	var text string
	if err := json.Unmarshal(in.data[start:in.at], &text); err != nil {
		return nil, errJSON
	}
	return []byte(text), nil
}

// members passes an object; member is called behind each name's colon. The name
// is valid until member reads on.
func (in *scanner) members(member func(name []byte) error) error {
	if in.next() != '{' {
		return errJSON
	}
	if in.space(); in.at < len(in.data) && in.data[in.at] == '}' {
		in.at++
		return nil
	}
	for {
		name, err := in.text()
		if err != nil {
			return err
		}
		if in.next() != ':' {
			return errJSON
		}
		if err := member(name); err != nil {
			return err
		}
		switch in.next() {
		case ',':
		case '}':
			return nil
		default:
			return errJSON
		}
	}
}

func (in *scanner) list(elem *shape) error {
	if in.next() != '[' {
		return errJSON
	}
	if in.space(); in.at < len(in.data) && in.data[in.at] == ']' {
		in.at++
		return nil
	}
	for {
		if err := in.value(elem); err != nil {
			return err
		}
		switch in.next() {
		case ',':
		case ']':
			return nil
		default:
			return errJSON
		}
	}
}

// eachLine calls f with every line of data, without its end.
func eachLine(data []byte, f func([]byte) error) error {
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		if err := f(line); err != nil {
			return err
		}
		data = rest
	}
	return nil
}
