/** Operations of teams and their members at `/v2/team` and `/v2/teams`. */

import Type from 'typebox';
import { AccountName, Email, Ok, RecordId, TeamEntry, TeamMember } from '../../contract/management.js';
import { WRITES_OWN_ENTRY } from '../audited/audit-rule.js';
import { accountOperation, type Operation, respond } from '../operation.js';
import { BODY_ERRORS, CHANGE_ERRORS, jsonBody, NO_STORE_HEADERS, OK, requiredBody, valueOrThrow } from './outcome.js';
import { presentInvitation, presentMember, presentTeam } from './presenters.js';

const TAG = 'Teams';
const TeamId = RecordId('Id of the team.');
const MemberEmail = Email('Email of the user, case-insensitive.');

const listTeams = accountOperation({
  operationId: 'listTeams',
  tag: TAG,
  summary: 'List your teams',
  description: 'Returns the teams that the user is a member of.',
  method: 'GET',
  path: '/v2/teams',
  unknownQuery: 'ignore',
  responses: { 200: Type.Array(TeamEntry) },
  errors: [],
  handle: async (_input, { accounts }, principal) => respond(200, (await accounts.listTeams(principal)).map(presentTeam)),
});

const createTeam = accountOperation({
  operationId: 'createTeam',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Create a team',
  description: 'Creates a team with the current user as its owner.',
  method: 'POST',
  path: '/v2/team',
  unknownQuery: 'refuse',
  body: jsonBody({ team_name: AccountName('Display name of the team.') }),
  responses: { 200: TeamEntry },
  errors: ['bad-parameter', ...BODY_ERRORS, 'conflict'],
  async handle({ body }, { accounts }, principal) {
    const team = valueOrThrow(await accounts.createTeam(principal, requiredBody(body).team_name));
    return respond(200, presentTeam({ ...team, role: 'owner' }));
  },
});

const deleteTeam = accountOperation({
  operationId: 'deleteTeam',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Delete a team',
  description: 'The team must not own queue instances or search indexes: move or delete them first.',
  method: 'DELETE',
  path: '/v2/team/{id}',
  unknownQuery: 'refuse',
  pathParameters: Type.Object({ id: TeamId }),
  responses: { 200: Ok },
  errors: [...CHANGE_ERRORS, 'conflict'],
  async handle({ path }, { accounts }, principal) {
    valueOrThrow(await accounts.deleteTeam(principal, path.id));
    return OK;
  },
});

const listMembers = accountOperation({
  operationId: 'listTeamMembers',
  tag: TAG,
  summary: 'List the members of a team',
  description: 'Returns the members of the team with their roles.',
  method: 'GET',
  path: '/v2/teams/{team_id}',
  unknownQuery: 'ignore',
  pathParameters: Type.Object({ team_id: TeamId }),
  responses: { 200: Type.Array(TeamMember) },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path }, { accounts }, principal) {
    const members = valueOrThrow(await accounts.listMembers(principal, path.team_id));
    return respond(200, members.map(presentMember));
  },
});

const putMember = accountOperation({
  operationId: 'setTeamMember',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Invite a user to a team or change the role of a member',
  description:
    'If the email does not belong to a member, the response has the status `invited` and an `invitation_secret`. The secret is shown once; pass it on to the invited person. The response is the same whether or not a user with this email exists. A new invitation replaces an earlier one for the same email.',
  method: 'POST',
  path: '/v2/teams/member',
  unknownQuery: 'refuse',
  body: jsonBody({
    team_id: TeamId,
    member_email: MemberEmail,
    member_role: Type.Enum(['admin', 'dev', 'finance'], {
      type: 'string',
      description:
        '`admin` has the rights of an owner. `dev` uses and changes the resources of the team. `finance` sees the resources and manages budgets.',
    }),
  }),
  responses: { 200: TeamMember },
  errors: [...CHANGE_ERRORS, ...BODY_ERRORS, 'conflict'],
  async handle({ body }, { accounts }, principal) {
    const { team_id, member_email: email, member_role: role } = requiredBody(body);
    const outcome = valueOrThrow(await accounts.putMember(principal, { teamId: team_id, email, role }));
    if (outcome.kind === 'member') return respond(200, presentMember(outcome.member));
    return respond(200, presentInvitation(outcome.invitation, outcome.secret), NO_STORE_HEADERS);
  },
});

const removeMember = accountOperation({
  operationId: 'removeTeamMember',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Remove a member from a team',
  description: 'Every member can leave a team. Removing other members requires the right to manage members.',
  method: 'DELETE',
  path: '/v2/teams/member',
  unknownQuery: 'refuse',
  body: jsonBody({ team_id: TeamId, member_email: MemberEmail }),
  responses: { 200: Ok },
  errors: [...CHANGE_ERRORS, ...BODY_ERRORS, 'conflict'],
  async handle({ body }, { accounts }, principal) {
    const { team_id, member_email: email } = requiredBody(body);
    valueOrThrow(await accounts.removeMember(principal, { teamId: team_id, email }));
    return OK;
  },
});

export const teamOperations: readonly Operation[] = [listTeams, createTeam, deleteTeam, listMembers, putMember, removeMember];
