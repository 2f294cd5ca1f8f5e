/** Account page: the user's identities and sessions. */
import { useQuery } from '@tanstack/react-query';
import { signInMethodsQuery, useSession } from '../../api/session.js';
import { Card } from '../../components/card.js';
import { CopyId } from '../../components/copy-id.js';
import { DescriptionList } from '../../components/description-list.js';
import { PageTitle } from '../../components/page-title.js';
import { Identities } from './identities.js';
import { Sessions } from './sessions.js';

export default function AccountPage() {
  const { user, is_operator: isOperator } = useSession();
  const { data: methods } = useQuery(signInMethodsQuery);
  return (
    <>
      <PageTitle title="Your account" lead="Your sessions and sign-in methods. Your API keys are on the Team page." />
      <div className="stack">
        <Card title={user.email}>
          <DescriptionList
            items={[
              ['ID', <CopyId key="id" value={user.id} valueName="user id" />],
              ['Operator', isOperator ? 'Yes' : 'No'],
            ]}
          />
        </Card>
        {methods?.sso === true ? <Identities userId={user.id} /> : null}
        <Sessions />
      </div>
    </>
  );
}
