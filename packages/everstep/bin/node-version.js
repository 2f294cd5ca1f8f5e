// Runs on any Node, so that an old one prints a message instead of a syntax error.
import { readFileSync } from 'node:fs';

/** The oldest Node that the package supports, such as `22.16.0`: its `engines` say it. */
export function oldestNode() {
  const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return engines.node.replace('>=', '');
}

/** Whether `version` (such as `22.15.1`) is `oldest` or newer. */
export function isSupported(version, oldest) {
  const [own, least] = [version, oldest].map((text) => text.split('.').map(Number));
  const differs = least.findIndex((part, at) => own[at] !== part);
  return differs === -1 || own[differs] > least[differs];
}
