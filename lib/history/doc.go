// Package history answers: how did everybody's priority and usage come to be what
// they are? It is pure: it knows samples and how they are written, thinned and
// read, and no files.
//
// At the end of a cycle negotiate takes a sample of every submitter and
// accounting group of which there is something new. The samples of one moment
// are a Block. Blocks go to files of several tiers: to one that has a block a
// minute and is kept for a day, to one that has a block a day and is kept for
// ever, and some between (see Tiers). No file is ever rewritten: samples are
// thinned with age because the files of the finer tiers go.
//
// A block need not speak of everybody. Of whom it says nothing nothing happened
// since the tier's last block that did: no demand, and RUP and usage follow
// accountant.Record's formula from that sample on. So a pool of ten thousand
// submitters of whom fifty are at work writes fifty lines. The first block of a
// file is of everybody, so that each file can be read by itself.
//
// Samples have the accumulated usage, so the mean of what was in use between any
// two of them is exact, however many between them are gone.
//
// A Reader makes Series of the blocks, to be tabled and drawn.
package history
