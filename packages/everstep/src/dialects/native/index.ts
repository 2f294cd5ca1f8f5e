/** The native dialect. */
import { NATIVE_PREFIX } from '@everstep/sdk/protocol';
import { createDialect } from '../dialect.js';
import { reserves } from './check-codec.js';
import { nativeStepCodec } from './step-codec.js';

export const native = createDialect({
  name: 'native',
  prefix: NATIVE_PREFIX,
  tokenParameter: 'svc_token',
  issuer: 'Everstep',
  steps: nativeStepCodec,
  reserves,
});
