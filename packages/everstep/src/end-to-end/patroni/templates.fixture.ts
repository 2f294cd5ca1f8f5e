/** The configuration files in deploy/patroni/, filled with the values of a test. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

export const TEMPLATES = ['etcd.yaml', 'patroni.yaml', 'create-database.sh', 'pgbouncer.ini', 'pgbouncer-users.txt'] as const;
export type Template = (typeof TEMPLATES)[number];

const DIRECTORY = new URL('../../../../../deploy/patroni/', import.meta.url);

/** Returns the content of the template with the values. Rejects if the template has a variable without a value. */
export async function fillTemplate(template: Template, values: Readonly<Record<string, string>>): Promise<string> {
  const text = await readFile(fileURLToPath(new URL(template, DIRECTORY)), 'utf8');
  return text.replace(/\$\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`${template}: no value for ${name}`);
    return value;
  });
}
