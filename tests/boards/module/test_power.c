// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <linux/module.h>
#include <linux/of.h>
#include <linux/platform_device.h>
#include <linux/pm_domain.h>
#include <linux/regulator/driver.h>
#include <linux/regulator/of_regulator.h>

/**
 * DOC: regulator and power domain of a test
 *
 * A node "cnnacc,test-power" is both.  /sys/module/test_power/parameters/ tells how they are, and
 * lets the regulator fail.
 */

static bool supply_on;
module_param(supply_on, bool, 0444);
MODULE_PARM_DESC(supply_on, "state of the regulator");

static bool domain_on;
module_param(domain_on, bool, 0444);
MODULE_PARM_DESC(domain_on, "state of the power domain");

static bool fail;
module_param(fail, bool, 0644);
MODULE_PARM_DESC(fail, "enabling the regulator fails");

static int test_supply_enable(struct regulator_dev *rdev)
{
	if (fail)
		return -EIO;
	supply_on = true;
	return 0;
}

static int test_supply_disable(struct regulator_dev *rdev)
{
	supply_on = false;
	return 0;
}

static int test_supply_is_enabled(struct regulator_dev *rdev)
{
	return supply_on;
}

static const struct regulator_ops test_supply_ops = {
	.enable = test_supply_enable,
	.disable = test_supply_disable,
	.is_enabled = test_supply_is_enabled,
};

static const struct regulator_desc test_supply_desc = {
	.name = "test-power",
	.ops = &test_supply_ops,
	.type = REGULATOR_VOLTAGE,
	.owner = THIS_MODULE,
};

static int test_domain_power_on(struct generic_pm_domain *domain)
{
	domain_on = true;
	return 0;
}

static int test_domain_power_off(struct generic_pm_domain *domain)
{
	domain_on = false;
	return 0;
}

static struct generic_pm_domain test_domain = {
	.name = "test-power",
	.power_on = test_domain_power_on,
	.power_off = test_domain_power_off,
};

static int test_power_probe(struct platform_device *pdev)
{
	struct device *dev = &pdev->dev;
	struct regulator_config config = { .dev = dev, .of_node = dev->of_node };
	struct regulator_dev *rdev;
	int ret;

	config.init_data = of_get_regulator_init_data(dev, dev->of_node, &test_supply_desc);
	rdev = devm_regulator_register(dev, &test_supply_desc, &config);
	if (IS_ERR(rdev))
		return PTR_ERR(rdev);
	ret = pm_genpd_init(&test_domain, NULL, true);
	return ret ? ret : of_genpd_add_provider_simple(dev->of_node, &test_domain);
}

static const struct of_device_id test_power_ids[] = {
	{ .compatible = "cnnacc,test-power" },
	{ }
};
MODULE_DEVICE_TABLE(of, test_power_ids);

static struct platform_driver test_power_driver = {
	.probe = test_power_probe,
	.driver = {
		.name = "test_power",
		.of_match_table = test_power_ids,
		/* It stays: nothing takes a domain away from its devices. */
		.suppress_bind_attrs = true,
	},
};
builtin_platform_driver(test_power_driver);

MODULE_DESCRIPTION("Regulator and power domain that a test switches");
MODULE_LICENSE("Dual MIT/GPL");
