/** Operations of invitations: `/v2/invitations` and the pending invitations of a team. */

import Type from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { InvitationSecret, JoinedTeam, Ok, RecordId, TeamMember } from '../../contract/management.js';
import { WRITES_OWN_ENTRY } from '../audited/audit-rule.js';
import { accountOperation, type Operation, openOperation, respond } from '../operation.js';
import { admitSecret, SECRET_ERRORS } from './open-secrets.js';
import { BODY_ERRORS, CHANGE_ERRORS, jsonBody, NO_STORE_HEADERS, OK, requiredBody, valueOrThrow } from './outcome.js';
import { presentInvitation, presentJoinedTeam } from './presenters.js';

const TAG = 'Invitations';
const secretBody = jsonBody({ secret: InvitationSecret });
const openSecretBody = { ...secretBody, maxBytes: LIMITS.maxLoginBodyBytes } as const;

const listInvitations = accountOperation({
  operationId: 'listTeamInvitations',
  tag: TAG,
  summary: 'List the pending invitations of a team',
  description: 'Only for members who can manage members. The response does not contain the secrets of the invitations.',
  method: 'GET',
  path: '/v2/teams/{team_id}/invitations',
  unknownQuery: 'ignore',
  pathParameters: Type.Object({ team_id: RecordId('Id of the team.') }),
  responses: { 200: Type.Array(TeamMember) },
  errors: CHANGE_ERRORS,
  async handle({ path }, { accounts }, principal) {
    const invitations = valueOrThrow(await accounts.listInvitations(principal, path.team_id));
    return respond(
      200,
      invitations.map((invitation) => presentInvitation(invitation)),
    );
  },
});

const revokeInvitation = accountOperation({
  operationId: 'revokeInvitation',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Revoke a pending invitation',
  description: 'The secret of the invitation becomes invalid immediately.',
  method: 'DELETE',
  path: '/v2/invitations/{id}',
  unknownQuery: 'refuse',
  pathParameters: Type.Object({ id: RecordId('Id of the invitation.') }),
  responses: { 200: Ok },
  errors: CHANGE_ERRORS,
  async handle({ path }, { accounts }, principal) {
    valueOrThrow(await accounts.revokeInvitation(principal, path.id));
    return OK;
  },
});

const acceptInvitation = openOperation({
  operationId: 'acceptInvitation',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Accept an invitation as a new user',
  description:
    'Creates the user and adds the user to the team. The response contains the first API key of the user, which is shown once. Fails with 409 if a user with this email already exists; that user accepts the invitation with `joinTeam`. Requires no authentication.',
  method: 'POST',
  path: '/v2/invitations/accept',
  unknownQuery: 'refuse',
  whileStopping: 'refuse',
  body: openSecretBody,
  responses: { 200: JoinedTeam },
  errors: [...SECRET_ERRORS, 'conflict'],
  admit: admitSecret,
  async handle({ body, request }, { accounts }) {
    const { secret } = requiredBody(body);
    const acceptedInvitation = valueOrThrow(await accounts.acceptInvitation({ secret, address: request.callerIp }));
    return respond(200, presentJoinedTeam(acceptedInvitation, acceptedInvitation.apiKey), NO_STORE_HEADERS);
  },
});

const joinTeam = accountOperation({
  operationId: 'joinTeam',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Accept an invitation as the current user',
  description: 'The invitation must be for the email address of the current user.',
  method: 'POST',
  path: '/v2/invitations/join',
  unknownQuery: 'refuse',
  body: secretBody,
  responses: { 200: JoinedTeam },
  errors: [...CHANGE_ERRORS, ...BODY_ERRORS, 'conflict'],
  async handle({ body }, { accounts }, principal) {
    return respond(200, presentJoinedTeam(valueOrThrow(await accounts.joinTeam(principal, requiredBody(body).secret))));
  },
});

const declineInvitation = openOperation({
  operationId: 'declineInvitation',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Decline an invitation',
  description: 'The invitation becomes invalid. Requires no authentication.',
  method: 'POST',
  path: '/v2/invitations/decline',
  unknownQuery: 'refuse',
  whileStopping: 'refuse',
  body: openSecretBody,
  responses: { 200: Ok },
  errors: SECRET_ERRORS,
  admit: admitSecret,
  async handle({ body, request }, { accounts }) {
    valueOrThrow(await accounts.declineInvitation({ secret: requiredBody(body).secret, address: request.callerIp }));
    return OK;
  },
});

export const invitationOperations: readonly Operation[] = [
  listInvitations,
  revokeInvitation,
  acceptInvitation,
  joinTeam,
  declineInvitation,
];
