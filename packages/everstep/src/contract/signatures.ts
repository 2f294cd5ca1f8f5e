/** Wire schemas of signature settings and public keys. */
import Type, { type Static } from 'typebox';
import { LIMITS } from '../config/limits.js';
import { NO_OTHER_PROPERTIES } from './fields/no-other-properties.js';

const PublicKeyFields = {
  kty: Type.Literal('OKP'),
  crv: Type.Literal('Ed25519'),
  x: Type.String({ description: 'Public key, base64url encoded.' }),
  kid: Type.String({ description: 'Key id: the thumbprint of the key (RFC 7638). Signatures contain it in their header.' }),
  use: Type.Literal('sig'),
  alg: Type.Literal('EdDSA'),
};
export const PublicKeySchema = Type.Object(PublicKeyFields, {
  ...NO_OTHER_PROPERTIES,
  description: 'Public key of Ed25519 signatures, as a JSON Web Key.',
});
export const KeySetSchema = Type.Object(
  { keys: Type.Array(PublicKeySchema, { description: 'Current key and next key.' }) },
  { ...NO_OTHER_PROPERTIES, description: 'JSON Web Key Set (RFC 7517).' },
);

const Origins = Type.Array(Type.String({ maxLength: LIMITS.maxOriginLength }), {
  maxItems: LIMITS.maxSignedOrigins,
  description:
    'Origins that belong to you: for example `https://app.example.com`, `https://*.example.com` for all subdomains, or `*` for all origins. Plain messages to them are signed with the signing keys.',
});
const OriginsOrNull = Type.Union([Origins, Type.Null()], {
  description:
    'Null when origins are not set. Then plain messages to all origins are signed with the signing keys until the first step is delivered. After that, only plain messages to workflow origins are signed with the signing keys.',
});

export const SignatureSettingsSchema = Type.Object(
  {
    origins: OriginsOrNull,
    workflowOrigins: Type.Array(Type.String(), {
      description: `Origins that steps were delivered to, at most ${LIMITS.maxWorkflowOrigins}. Plain messages to them are also signed with the signing keys.`,
    }),
    messageKeys: Type.Object(
      { current: Type.String(), next: Type.String() },
      {
        ...NO_OTHER_PROPERTIES,
        description:
          'Keys that sign plain messages to all other origins. They are derived from the signing keys and rotate with them.',
      },
    ),
    ed25519: Type.Union(
      [
        Type.Object(
          {
            jwksUrl: Type.String({
              description: 'URL of the public keys, for the option `jwksUrl` of the SDK. It does not require a token.',
            }),
            current: PublicKeySchema,
            next: PublicKeySchema,
          },
          NO_OTHER_PROPERTIES,
        ),
        Type.Null(),
      ],
      { description: 'Public keys of Ed25519 signatures. Null when requests have no Ed25519 signature.' },
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Signature settings of a queue instance, other than its signing keys.' },
);

/** Fields that are absent keep their value. */
export const SignatureSettingsPatch = Type.Object(
  {
    origins: Type.Optional(OriginsOrNull),
    ed25519: Type.Optional(
      Type.Boolean({
        description:
          '`true` creates two key pairs if there are none, and adds an Ed25519 signature to every signed request. `false` deletes the key pairs.',
      }),
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Settings to change. Absent settings keep their value.' },
);
export type SignatureSettingsPatch = Static<typeof SignatureSettingsPatch>;
