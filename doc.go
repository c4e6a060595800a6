// Package tare holds the nouns that every other package of the module speaks: tasks and the briefs made from them,
// episodes and their trajectories, records and the evidence in them, gates and verdicts, trees of files, and typed values
// with their comparison. It imports the standard library only, runs nothing, and reads no file.
//
// To read the code in the order of a run: a task is loaded by internal/suite; internal/agent plays its brief in the world
// that internal/tools serves over MCP, while internal/trajectory writes down each step; internal/evidence then observes
// the workspace by means of internal/check and internal/sandbox; internal/oracle computes the verdict from the record and
// nothing else; for scenarios it asks internal/predicate, internal/contract and internal/claims, which decide nothing.
// internal/run goes that whole way, and internal/proof sends controls along it, whose verdicts are known.
// internal/report shows the results, internal/cli wires it all together, and arch_test.go says who may import whom.
package tare
