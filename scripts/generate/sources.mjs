/** Runs the TypeScript sources of the packages without a build. Import this module before theirs. */
import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { fileURLToPath } from 'node:url';

const PACKAGES = new URL('../../packages/', import.meta.url).href;
const PROTOCOL = `${PACKAGES}sdk/src/protocol.ts`;

registerHooks({
  resolve(specifier, context, next) {
    if (!context.parentURL?.endsWith('.ts')) return next(specifier, context);
    if (specifier === '@everstep/sdk/protocol') return { url: PROTOCOL, format: 'module', shortCircuit: true };
    return next(specifier.startsWith('.') ? specifier.replace(/\.js$/, '.ts') : specifier, context);
  },
  load(url, context, next) {
    if (!url.startsWith(PACKAGES) || !url.endsWith('.ts')) return next(url, context);
    return { format: 'module', source: stripTypeScriptTypes(readFileSync(fileURLToPath(url), 'utf8')), shortCircuit: true };
  },
});
