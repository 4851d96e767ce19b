package report

// Handler receives a census: Begin, then every record in the order of the
// methods and sorted within a kind, then End. A receiver may keep a record and
// must not change it. The first error ends the census.
type Handler interface {
	Begin(*Header) error
	Kustomization(*Kustomization) error
	HelmRelease(*HelmRelease) error
	Placement(*Placement) error
	Object(*Object) error
	Live(*LiveObject) error
	File(*File) error
	Finding(*Finding) error
	Hidden(*Hidden) error
	Coverage(*CoverageRow) error
	Oracle(*OracleRow) error
	End(*Census) error
}

// Ignore handles everything by doing nothing. Embed it to receive only some
// records.
type Ignore struct{}

// The methods of Handler.
func (Ignore) Begin(*Header) error                { return nil }
func (Ignore) Kustomization(*Kustomization) error { return nil }
func (Ignore) HelmRelease(*HelmRelease) error     { return nil }
func (Ignore) Placement(*Placement) error         { return nil }
func (Ignore) Object(*Object) error               { return nil }
func (Ignore) Live(*LiveObject) error             { return nil }
func (Ignore) File(*File) error                   { return nil }
func (Ignore) Finding(*Finding) error             { return nil }
func (Ignore) Hidden(*Hidden) error               { return nil }
func (Ignore) Coverage(*CoverageRow) error        { return nil }
func (Ignore) Oracle(*OracleRow) error            { return nil }
func (Ignore) End(*Census) error                  { return nil }

// Dispatch gives a record, a pointer to one of the structs of the contract, to
// the method of h for it.
func Dispatch(h Handler, record any) error {
	switch r := record.(type) {
	case *Header:
		return h.Begin(r)
	case *Kustomization:
		return h.Kustomization(r)
	case *HelmRelease:
		return h.HelmRelease(r)
	case *Placement:
		return h.Placement(r)
	case *Object:
		return h.Object(r)
	case *LiveObject:
		return h.Live(r)
	case *File:
		return h.File(r)
	case *Finding:
		return h.Finding(r)
	case *Hidden:
		return h.Hidden(r)
	case *CoverageRow:
		return h.Coverage(r)
	case *OracleRow:
		return h.Oracle(r)
	case *Census:
		return h.End(r)
	}
	return nil
}

// tee is a handler for several.
type tee []Handler

// Tee returns a handler that gives every record to each of the handlers in turn.
func Tee(handlers ...Handler) Handler { return tee(handlers) }

func (t tee) all(record any) error {
	for _, h := range t {
		if err := Dispatch(h, record); err != nil {
			return err
		}
	}
	return nil
}

func (t tee) Begin(r *Header) error                { return t.all(r) }
func (t tee) Kustomization(r *Kustomization) error { return t.all(r) }
func (t tee) HelmRelease(r *HelmRelease) error     { return t.all(r) }
func (t tee) Placement(r *Placement) error         { return t.all(r) }
func (t tee) Object(r *Object) error               { return t.all(r) }
func (t tee) Live(r *LiveObject) error             { return t.all(r) }
func (t tee) File(r *File) error                   { return t.all(r) }
func (t tee) Finding(r *Finding) error             { return t.all(r) }
func (t tee) Hidden(r *Hidden) error               { return t.all(r) }
func (t tee) Coverage(r *CoverageRow) error        { return t.all(r) }
func (t tee) Oracle(r *OracleRow) error            { return t.all(r) }
func (t tee) End(r *Census) error                  { return t.all(r) }
