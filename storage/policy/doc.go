// Package policy holds the time rules of the store: calendar windows, cuts,
// the policies that keys get by their longest prefix, which windows of a key
// are searched and written at a given moment, and when anything may be
// deleted.
//
// It is pure: no I/O of its own, no goroutines and no clock. Every time is an
// argument, in Unix milliseconds, so that a record replayed later, or
// elsewhere, gives the same state. The one exception is the standard library's
// zone data, which is read once for each IANA zone that is named.
//
// The way through the package, from below:
//
//	Period, Zone      what a window is, and whose midnight counts
//	Calendar, Window  the numbered windows of a period in a zone
//	Label, Cuts       windows that were ended early
//	Settings, Partial what a policy says, and what it leaves to a shorter prefix
//	Class             period, zone and KEEP together; blocks and floors
//	Directory, View   all policies, and what they mean for one key
//	ClockGuard        whether the clock may be trusted with a delete
package policy
