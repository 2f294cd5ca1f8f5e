/** Fills and empties a namespace repeatedly until it is killed, with removal in the background. Prints a number per round. */
import { writeSync } from 'node:fs';
import { sampleDocument } from '../../conformance/search-documents.js';
import { openSearchDocuments } from './index.js';

const STDOUT = 1;
const DOCUMENTS_PER_ROUND = 1000;
const [directory] = process.argv.slice(2);
if (directory === undefined) throw new Error('the path of the directory is missing');

const documents = openSearchDocuments({ directory });
const target = { indexId: 'idx_a', namespace: 'n' } as const;
for (let round = 1; ; round++) {
  const roundDocuments = Array.from({ length: DOCUMENTS_PER_ROUND }, (_, n) =>
    sampleDocument(`d${n}`, { text: `word round${round} ${n}` }),
  );
  await documents.upsert({ ...target, documents: roundDocuments });
  await documents.reset({ indexId: target.indexId, namespace: target.namespace });
  await documents.upsert({ ...target, documents: roundDocuments.slice(0, 10) });
  writeSync(STDOUT, `${round}\n`);
}
