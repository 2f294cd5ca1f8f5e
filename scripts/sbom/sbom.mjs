// npm run sbom [-- <file>]: writes the CycloneDX bill of materials of the server to a file or standard output.
import { writeFileSync } from 'node:fs';
import { billOfMaterials } from './bill.mjs';

const [file] = process.argv.slice(2);
const text = `${JSON.stringify(billOfMaterials(), null, 2)}\n`;
if (file === undefined) process.stdout.write(text);
else writeFileSync(file, text);
