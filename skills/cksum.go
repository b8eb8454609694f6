package skills

import "fmt"

// cksumTable is that of the polynomial 0x04C11DB7, the highest bit first, which
// hash/crc32 does not have.
var cksumTable = func() (table [256]uint32) {
	for i := range table {
		crc := uint32(i) << 24 //nolint:gosec // at most 255
		for range 8 {
			if crc&(1<<31) != 0 {
				crc = crc<<1 ^ 0x04C11DB7
			} else {
				crc <<= 1
			}
		}
		table[i] = crc
	}
	return table
}()

// cksum is the checksum of POSIX's cksum, written piece by piece.
type cksum struct {
	crc  uint32
	size int64
}

// Write never fails.
func (c *cksum) Write(p []byte) (int, error) {
	crc := c.crc
	for _, b := range p {
		crc = crc<<8 ^ cksumTable[byte(crc>>24)^b]
	}
	c.crc = crc
	c.size += int64(len(p))
	return len(p), nil
}

// String is checksum and size, as cksum prints them. The size is part of the
// sum, its lowest byte first.
func (c *cksum) String() string {
	sum := *c
	for n := c.size; n > 0; n >>= 8 {
		sum.Write([]byte{byte(n)}) //nolint:errcheck // it never fails
	}
	return fmt.Sprintf("%d %d", ^sum.crc, c.size)
}
