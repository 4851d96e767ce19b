package main

// mutate is not there yet.
func (b *bench) mutate(s *subject, t *table, n int, seed uint64) error { return nil }
