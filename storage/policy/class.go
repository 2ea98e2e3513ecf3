package policy

// A ClassID is the small stable number of a class in row keys.
type ClassID uint8

// MaxClasses is how many combinations of PERIOD, ZONE and KEEP may live at a
// time.
const MaxClasses = 64

// A Class is one combination of period, zone and keep: all rows of a class
// expire alike. A block is the run of ceil(Keep/6) consecutive windows that
// share a row. A Class is immutable; a raised floor makes a new one with the
// same id.
type Class struct {
	ID   ClassID
	Keep int64

	// Pinned classes are used by reserved keys, whose meta rows nobody counts;
	// they are retired only after Unpin.
	Pinned bool

	// Floor is the oldest block that may have rows: operands below it are
	// discarded, reads ignore what lies below.
	Floor int64

	*Calendar
	perBlock   int64
	floorStart int64 // ms
}

// classKey is what makes two classes one. Durations know no zone.
type classKey struct {
	period Period
	zone   string
	keep   int64
}

func keyOf(s Settings) classKey {
	if s.Period.unit == UnitSpan {
		s.Zone = UTC
	}
	return classKey{period: s.Period, zone: s.Zone.name, keep: s.Keep}
}

func (c *Class) key() classKey {
	return classKey{period: c.period, zone: c.zone.name, keep: c.Keep}
}

func newClass(id ClassID, s Settings) *Class {
	if s.Period.unit == UnitSpan {
		s.Zone = UTC
	}
	return &Class{ID: id, Keep: s.Keep, Calendar: NewCalendar(s.Period, s.Zone), perBlock: (s.Keep + 5) / 6}
}

// withFloor is the class with a floor.
func (c *Class) withFloor(block int64) *Class {
	raised := *c
	raised.Floor = block
	raised.floorStart = c.start(c.FirstWindow(block))
	return &raised
}

// PerBlock is the number of windows in a block.
func (c *Class) PerBlock() int64 { return c.perBlock }

// Block is the block that holds a window.
func (c *Class) Block(number int64) int64 { return number / c.perBlock }

// LastBlock is the block that holds the last window of the supported range.
func (c *Class) LastBlock() int64 { return c.Block(c.last) }

// FirstWindow is the number of a block's first window.
func (c *Class) FirstWindow(block int64) int64 {
	return min(max(block, 0), c.LastBlock()+1) * c.perBlock
}

// LastWindow is the number of a block's last window.
func (c *Class) LastWindow(block int64) int64 { return c.FirstWindow(block) + c.perBlock - 1 }

// BlockStart is the first instant of a block.
func (c *Class) BlockStart(block int64) int64 { return c.start(c.FirstWindow(block)) }

// BlockEnd is the first instant after a block.
func (c *Class) BlockEnd(block int64) int64 { return c.start(c.LastWindow(block) + 1) }

// LifeEnd is the instant from which a window is not kept any more. (Cuts may
// end the life of a key's windows earlier, never later.)
func (c *Class) LifeEnd(number int64) int64 {
	if number > c.last {
		return MaxTime
	}
	return c.start(number + c.Keep)
}

// DropDue is the instant from which a block has no kept window. Deleting it
// also needs ClockGuard.MayDelete(DropDue).
func (c *Class) DropDue(block int64) int64 { return c.LifeEnd(c.LastWindow(block)) }

// FirstKeptBlock is the oldest block that has a kept window at a time: blocks
// below it are past DropDue.
func (c *Class) FirstKeptBlock(ms int64) int64 {
	return c.Block(max(0, c.number(clamp(ms))-c.Keep+1))
}

// SealDue is the earliest time at which a block may be sealed: a day after its
// last window ended, and a day after the last stored slot that brought it a
// main item. An operator's SEAL waives the second: pass stored as 0. A block
// without stored main items is never sealed.
func (c *Class) SealDue(block, stored int64) int64 {
	return max(c.BlockEnd(block), stored) + Day
}
