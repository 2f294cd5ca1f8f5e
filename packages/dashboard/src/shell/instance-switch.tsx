/** Menu that switches to another queue instance and stays on the same page. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { instancesQuery, useInstance, useInstanceId } from '../api/instances.js';
import { Icon } from '../components/icons.js';
import { MenuButton } from '../components/menus/menu-button.js';

export function InstanceSwitch() {
  const instanceId = useInstanceId();
  const instance = useInstance();
  const { data: instances = [] } = useQuery(instancesQuery);
  const navigate = useNavigate();
  const switchTo = (id: string) => {
    // Filters and ids of this instance mean nothing in another one: open the page without them.
    const [, , , feature = 'overview'] = window.location.pathname.split('/');
    void navigate({ to: `/q/${id}/${feature}` });
  };
  const entries = instances.map(({ id, name, region }) => ({
    ...{ text: name, note: region, selected: id === instanceId },
    onSelect: () => switchTo(id),
  }));
  return (
    <MenuButton className="button instance-switch" align="start" sections={[{ entries }]}>
      <span className="clip">
        <span className="visually-hidden">Queue instance: </span>
        {instance?.name ?? instanceId}
      </span>
      <Icon name="down" />
    </MenuButton>
  );
}
