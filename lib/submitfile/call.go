package submitfile

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"fairspool/lib/macro"
)

// call returns the value of a macro function.
func (s *scope) call(p *part, at origin) (string, error) {
	body, err := s.expand(p.Body, s.template(p.Body), at)
	if err != nil {
		return "", err
	}
	args := macro.Arguments(body)
	switch p.Function {
	case "INT", "REAL", "STRING", "EVAL":
		value, format := strings.TrimSpace(body), ""
		if p.Function != "EVAL" {
			value, format, _ = macro.CutFormat(body)
		}
		if value, err = s.worth(value); err != nil {
			return "", err
		}
		return macro.Format(p.Function, value, format)
	case "CHOICE":
		return s.choice(args)
	case "RANDOM_CHOICE":
		return s.randomChoice(args)
	case "RANDOM_INTEGER":
		return s.randomInteger(args)
	case "SUBSTR":
		return s.substring(args)
	case "DIRNAME", "BASENAME":
		name, err := s.worth(args[0])
		if err != nil {
			return "", err
		}
		if p.Function == "DIRNAME" {
			return macro.Dirname(name), nil
		}
		suffix := ""
		if len(args) > 1 {
			suffix = args[1]
		}
		return macro.Basename(name, suffix), nil
	}
	name, err := s.worth(strings.TrimSpace(body))
	if err != nil {
		return "", err
	}
	return macro.Filename(p.Function[1:], name, s.options.Dir), nil
}

// worth returns the value of the name that an argument is, or the argument
// itself.
func (s *scope) worth(arg string) (string, error) {
	arg = strings.TrimSpace(arg)
	if !macro.IsName(arg) {
		return arg, nil
	}
	text, ok, err := s.named(arg, strings.ToLower(arg))
	if err != nil || ok {
		return strings.TrimSpace(text), err
	}
	return arg, nil
}

// number returns what an argument is worth that is a whole number, or an
// expression for one.
func (s *scope) number(arg string) (int64, error) {
	text, err := s.worth(arg)
	if err != nil {
		return 0, err
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	out, err := macro.Format("INT", text, "")
	if err != nil {
		return 0, fmt.Errorf("%s: want a whole number", Shorten(text))
	}
	return strconv.ParseInt(out, 10, 64)
}

func (s *scope) choice(args []string) (string, error) {
	if len(args) < 2 {
		return "", errors.New("want an index and a list")
	}
	index, err := s.number(args[0])
	if err != nil {
		return "", err
	}
	list := args[1:]
	if len(list) == 1 {
		if list, err = s.listOf(list[0]); err != nil {
			return "", err
		}
	}
	return macro.Choice(within(index), list)
}

// listOf returns the items of a list that an argument is, or names.
func (s *scope) listOf(arg string) ([]string, error) {
	if !macro.IsName(arg) {
		return macro.Items(arg), nil
	}
	text, ok, err := s.named(arg, strings.ToLower(arg))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%s: not defined: want the name of a list, or two items and more", Shorten(arg))
	}
	return macro.Items(text), nil
}

// randomChoice takes one of the arguments, or of the items of the list that
// a single one names.
func (s *scope) randomChoice(args []string) (string, error) {
	s.varied = true
	if len(args) == 1 {
		text, err := s.worth(args[0])
		if err != nil {
			return "", err
		}
		if text == args[0] {
			args = []string{text}
		} else {
			args = macro.Items(text)
		}
	}
	if len(args) == 0 || len(args) == 1 && args[0] == "" {
		return "", errors.New("want items to choose from")
	}
	return args[s.random().IntN(len(args))], nil
}

// within keeps a number where an int of any machine holds it.
func within(n int64) int { return int(min(max(n, math.MinInt32), math.MaxInt32)) }

func (s *scope) substring(args []string) (string, error) {
	if len(args) < 2 || len(args) > 3 {
		return "", errors.New("want a name, where to begin, and perhaps a length")
	}
	text, err := s.worth(args[0])
	if err != nil {
		return "", err
	}
	start, err := s.number(args[1])
	if err != nil {
		return "", err
	}
	length := int64(0)
	if len(args) == 3 {
		if length, err = s.number(args[2]); err != nil {
			return "", err
		}
	}
	return macro.Substring(text, within(start), within(length), len(args) == 3), nil
}

func (s *scope) randomInteger(args []string) (string, error) {
	s.varied = true
	if len(args) < 2 || len(args) > 3 {
		return "", errors.New("want the least, the greatest, and perhaps a step")
	}
	numbers := [3]int64{2: 1}
	for i, arg := range args {
		n, err := s.number(arg)
		if err != nil {
			return "", err
		}
		numbers[i] = n
	}
	n, err := macro.RandomInteger(s.random().Int64N, numbers[0], numbers[1], numbers[2])
	return strconv.FormatInt(n, 10), err
}

// random returns the source of chance: a row of numbers for each proc, and one for all
// text that is read before there are procs.
func (s *scope) random() *rand.Rand {
	if s.proc == nil {
		if s.Description.chance == nil {
			s.Description.chance = rand.New(rand.NewPCG(s.options.Seed, math.MaxUint64))
		}
		return s.Description.chance
	}
	if s.proc.chance == nil {
		s.proc.chance = rand.New(rand.NewPCG(s.options.Seed, uint64(s.proc.proc)))
	}
	return s.proc.chance
}
