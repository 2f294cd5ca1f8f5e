/** The plans of the installation: from the operator's file, when there is one. */
import { readFile } from 'node:fs/promises';
import { BUILT_IN_PLANS, loadPlans, type Plans } from '../accounts/plans.js';
import { fileError, StartError } from './start-error.js';

/** `file` null: the built-in plan. Rejects with StartError, which names all that is wrong with the file. */
export async function readPlans(file: string | null): Promise<Plans> {
  if (file === null) return BUILT_IN_PLANS;
  const text = await readFile(file, 'utf8').catch((error) => {
    throw fileError(`The plans file ${file} cannot be read`, error);
  });
  const loaded = loadPlans(text);
  if (loaded.ok) return loaded.plans;
  throw new StartError(`The plans file ${file} cannot be used: ${loaded.problems.join('; ')}.`);
}
