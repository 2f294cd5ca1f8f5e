/** Wire schemas of what is about the service or the queue instance, not about a run. */
import Type from 'typebox';

const CLOSED = { additionalProperties: false } as const;

export const FlowControlEntry = Type.Object(
  {
    flowControlKey: Type.String(),
    waitListSize: Type.Integer({ minimum: 0, description: 'Messages that wait for the key.' }),
  },
  CLOSED,
);
export const FlowControls = Type.Object({ flowControls: Type.Array(FlowControlEntry) }, CLOSED);

export const SigningKeysSchema = Type.Object(
  {
    current: Type.String({ description: 'Signs what the service sends.' }),
    next: Type.String({ description: 'Becomes the current one when the keys are rotated.' }),
  },
  CLOSED,
);

export const Health = Type.Object({ status: Type.Literal('ok'), version: Type.String() }, CLOSED);
export const Readiness = Type.Object({ status: Type.Literal('ready') }, CLOSED);
