// Simulates queue instances that consist of cells. Prints how evenly run ids fill the cells, and how many each operation touches.
// See docs/decisions/0041-statements-for-distributed-tables.md. Arguments: cells, runs, steps of a run.
import { createHash } from 'node:crypto';

const [cells = 16, runs = 1_000_000, steps = 10] = process.argv.slice(2).map(Number);

/** Load of one operation of each kind per run, and the cells that it touches. */
const OPERATIONS = [
  { name: 'start of a run', perRun: 1, touchedCells: 1 },
  { name: 'step', perRun: steps, touchedCells: 1 },
  { name: 'failure or resume', perRun: 0.01, touchedCells: 1 },
  { name: 'notify with a run id', perRun: 0.1, touchedCells: 1 },
  { name: 'notify without a run id', perRun: 0.01, touchedCells: cells },
  { name: 'page of a list', perRun: 0.001, touchedCells: cells },
];

const cellOf = (runId) => createHash('sha256').update(runId).digest().readUInt32BE(0) % cells;

const runsPerCell = new Array(cells).fill(0);
for (let run = 0; run < runs; run++) runsPerCell[cellOf(`wfr_${run}`)]++;
const mean = runs / cells;
const [minRuns, maxRuns] = [Math.min(...runsPerCell), Math.max(...runsPerCell)];
process.stdout.write(
  `${runs} runs in ${cells} cells: ${(minRuns / mean).toFixed(3)} to ${(maxRuns / mean).toFixed(3)} of the mean\n`,
);

let [operationCount, totalTouches] = [0, 0];
for (const { name, perRun, touchedCells } of OPERATIONS) {
  operationCount += perRun;
  totalTouches += perRun * touchedCells;
  process.stdout.write(`${name}: ${touchedCells} ${touchedCells === 1 ? 'cell' : 'cells'}\n`);
}
process.stdout.write(`fan-out: ${(totalTouches / operationCount).toFixed(3)} cells for each operation\n`);
const peakStepsPerS = (1e9 / 86_400) * 3;
process.stdout.write(
  `a billion steps a day: ${Math.round(peakStepsPerS)} steps/s at the peak, ${Math.round(peakStepsPerS / cells)} in each cell\n`,
);
