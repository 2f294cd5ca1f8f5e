/** Wire schemas of signature settings and public keys. */
import Type, { type Static } from 'typebox';
import { LIMITS } from '../config/limits.js';

const CLOSED = { additionalProperties: false } as const;

const PublicKeyFields = {
  kty: Type.Literal('OKP'),
  crv: Type.Literal('Ed25519'),
  x: Type.String({ description: 'The key, base64url.' }),
  kid: Type.String({ description: 'Names the key in the header of a signature: its thumbprint (RFC 7638).' }),
  use: Type.Literal('sig'),
  alg: Type.Literal('EdDSA'),
};
export const PublicKeySchema = Type.Object(PublicKeyFields, CLOSED);
export const KeySetSchema = Type.Object(
  { keys: Type.Array(PublicKeySchema, { description: 'The current key and the next key.' }) },
  { ...CLOSED, description: 'A JSON Web Key Set (RFC 7517).' },
);

const Origins = Type.Array(Type.String({ maxLength: LIMITS.maxOriginLength }), {
  maxItems: LIMITS.maxSignedOrigins,
  description:
    'Origins such as https://app.example.com, https://*.example.com for all subdomains, or * for all origins. Plain messages to them are signed with the signing keys.',
});
const OriginsOrNull = Type.Union([Origins, Type.Null()], {
  description:
    'Null: not set. All origins get signatures with the signing keys until the first step is delivered, then only origins of workflows.',
});

export const SignatureSettingsSchema = Type.Object(
  {
    origins: OriginsOrNull,
    workflowOrigins: Type.Array(Type.String(), {
      description: `Origins that steps were delivered to, at most ${LIMITS.maxWorkflowOrigins}. Plain messages to them are signed with the signing keys as well.`,
    }),
    messageKeys: Type.Object(
      { current: Type.String(), next: Type.String() },
      {
        ...CLOSED,
        description:
          'They sign plain messages to all other origins. They are derived from the signing keys and rotate with them.',
      },
    ),
    ed25519: Type.Union(
      [
        Type.Object(
          {
            jwksUrl: Type.String({ description: 'URL of the public keys, readable without a token.' }),
            current: PublicKeySchema,
            next: PublicKeySchema,
          },
          CLOSED,
        ),
        Type.Null(),
      ],
      { description: 'The public keys of Ed25519 signatures; null: requests carry none.' },
    ),
  },
  CLOSED,
);

/** What is absent stays as it is. */
export const SignatureSettingsPatch = Type.Object(
  {
    origins: Type.Optional(OriginsOrNull),
    ed25519: Type.Optional(
      Type.Boolean({
        description:
          'True creates two key pairs if there are none: every signed request then carries an Ed25519 signature too. False deletes them.',
      }),
    ),
  },
  CLOSED,
);
export type SignatureSettingsPatch = Static<typeof SignatureSettingsPatch>;
