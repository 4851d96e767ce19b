package reachv1

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Text makes of bytes what a string of the protocol can hold: each byte that is
// not part of UTF-8 appears as \xNN, two lower-case digits.
func Text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, s[0])
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// Bytes returns what Text made s of, if it made it of bytes that are not UTF-8;
// else s itself. A name that really holds a backslash, an x and two digits looks
// the same, so who looks something up tries s first.
func Bytes(s string) string {
	if !strings.Contains(s, `\x`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		var c byte
		if n, err := fmt.Sscanf(s[i:min(i+4, len(s))], `\x%02x`, &c); err == nil && n == 1 && c >= utf8.RuneSelf && i+4 <= len(s) {
			b.WriteByte(c)
			i += 3
			continue
		}
		b.WriteByte(s[i])
	}
	if out := b.String(); Text(out) == s {
		return out
	}
	return s
}

// Codec is gRPC's codec for protobuf, for either side, with one difference: a
// string that is not UTF-8 goes on the wire as Text makes it, where the other
// refuses the message and so ends the call. It changes such a message.
func Codec() encoding.CodecV2 { return codec{encoding.GetCodecV2("proto")} }

type codec struct{ encoding.CodecV2 }

// Marshal looks at the strings only when the message was refused.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	out, err := c.CodecV2.Marshal(v)
	if err == nil {
		return out, nil
	}
	m, ok := v.(proto.Message)
	if !ok {
		return nil, err
	}
	escape(m.ProtoReflect())
	return c.CodecV2.Marshal(v)
}

func escape(m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
			escapeMap(m.NewField(f).Map(), v.Map(), f, func(out protoreflect.Map) { m.Set(f, protoreflect.ValueOfMap(out)) })
		case f.IsList():
			for i := range v.List().Len() {
				if out, changed := escaped(f, v.List().Get(i)); changed {
					v.List().Set(i, out)
				}
			}
		default:
			if out, changed := escaped(f, v); changed {
				m.Set(f, out)
			}
		}
		return true
	})
}

// escapeMap has set take a map made new when a key or value is not UTF-8.
func escapeMap(made, old protoreflect.Map, f protoreflect.FieldDescriptor, set func(protoreflect.Map)) {
	any := false
	old.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		v, changed := escaped(f.MapValue(), v)
		any = any || changed
		if f.MapKey().Kind() == protoreflect.StringKind && !utf8.ValidString(k.String()) {
			k, any = protoreflect.ValueOfString(Text(k.String())).MapKey(), true
		}
		made.Set(k, v)
		return true
	})
	if any {
		set(made)
	}
}

// escaped returns a value, and whether it is another one.
func escaped(f protoreflect.FieldDescriptor, v protoreflect.Value) (protoreflect.Value, bool) {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		escape(v.Message())
	case protoreflect.StringKind:
		if s := v.String(); !utf8.ValidString(s) {
			return protoreflect.ValueOfString(Text(s)), true
		}
	}
	return v, false
}
