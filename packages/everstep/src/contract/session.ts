/**
 * Wire schemas of browser sessions, which the dashboard uses. Part of the management API: snake_case names, times in Unix
 * seconds.
 */
import Type, { type Static } from 'typebox';
import { NO_OTHER_PROPERTIES } from './fields/no-other-properties.js';
import { Email } from './management.js';

export const SessionEntry = Type.Object(
  {
    user: Type.Object({ id: Type.String(), email: Type.String() }, NO_OTHER_PROPERTIES),
    is_operator: Type.Boolean({ description: 'Whether the user is an operator of the installation.' }),
    csrf_token: Type.String({
      description: 'Token to send as the header `x-everstep-csrf` with every request of the session other than GET and HEAD.',
    }),
    logout_url: Type.Optional(
      Type.String({
        description:
          'URL where the user signs out of the identity provider. Only for sessions that were created by single sign-on.',
      }),
    ),
    expires_at: Type.Integer({
      format: 'int64',
      description:
        'Time when the session expires if it is not used, in Unix seconds. Each use extends it, up to seven days after the sign-in.',
    }),
  },
  {
    ...NO_OTHER_PROPERTIES,
    description:
      'Session of the user. The response to a sign-in sets the cookie `everstep_session` (over HTTPS: `__Host-everstep_session`), which scripts cannot read.',
  },
);
export type SessionEntry = Static<typeof SessionEntry>;

export const LoginLinkBody = Type.Object(
  { secret: Type.String({ minLength: 1, maxLength: 256, description: 'Secret of the sign-in link.' }) },
  NO_OTHER_PROPERTIES,
);

export const LoginBody = Type.Object(
  {
    email: Email('Email of the user.'),
    api_key: Type.String({ minLength: 1, maxLength: 256, description: 'Valid API key of the user.' }),
  },
  NO_OTHER_PROPERTIES,
);
export type LoginBody = Static<typeof LoginBody>;

export const OwnSession = Type.Object(
  {
    id: Type.String(),
    api_key_id: Type.Optional(
      Type.String({
        description:
          'Id of the API key that was used to sign in. Revoking the key ends the session. Absent for sessions that were created by single sign-on.',
      }),
    ),
    creation_time: Type.Integer({ format: 'int64', description: 'Time when the session was created, in Unix seconds.' }),
    expires_at: Type.Integer({
      format: 'int64',
      description: 'Time when the session expires if it is not used, in Unix seconds.',
    }),
    current: Type.Boolean({ description: 'Whether this session made the request.' }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Session of the user in a browser.' },
);
export type OwnSession = Static<typeof OwnSession>;

export const EndedSessions = Type.Object(
  { ended: Type.Integer({ description: 'Number of sessions that were ended.' }) },
  NO_OTHER_PROPERTIES,
);
export type EndedSessions = Static<typeof EndedSessions>;
