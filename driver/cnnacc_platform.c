// SPDX-License-Identifier: GPL-2.0-only
#include <linux/clk.h>
#include <linux/mod_devicetable.h>
#include <linux/of.h>
#include <linux/of_reserved_mem.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>
#include <linux/regulator/consumer.h>
#include <linux/reset.h>

#include "cnnacc_device.h"

/**
 * DOC: platform
 *
 * The part for a peripheral that a device tree describes: register pages, level interrupts (one, or
 * one per core and one for errors), and supply, clocks and reset, which are off while the device is
 * suspended.  Registers must not be accessed then.
 *
 * Unlike a PCI function the device cannot be cut off from memory; its reset line, if it has one, is
 * as good.
 */

/**
 * struct cnnacc_platform - what the device tree gives a device.
 * @supply: regulator, NULL if there is none
 * @clocks: clocks
 * @clock_count: number of @clocks
 * @reset: reset lines, NULL if there are none
 * @on: supply and clocks are on and reset is released
 */
struct cnnacc_platform {
	struct regulator *supply;
	struct clk_bulk_data *clocks;
	int clock_count;
	struct reset_control *reset;
	bool on;
};

static int cnnacc_platform_irq(struct device *dev, unsigned int vector)
{
	struct cnnacc_device *cdev = dev_get_drvdata(dev);
	char name[8];

	if (cdev->vector_max == 1)
		return platform_get_irq(to_platform_device(dev), 0);
	snprintf(name, sizeof(name), vector < cdev->core_count ? "core%u" : "error", vector);
	return platform_get_irq_byname(to_platform_device(dev), name);
}

static void cnnacc_platform_allow_dma(struct device *dev, bool allow)
{
	struct cnnacc_device *cdev = dev_get_drvdata(dev);
	struct cnnacc_platform *platform = cdev->bus_state;

	if (allow || !platform->on)
		return;
	/* A device that was just reset does no DMA, and its registers can be accessed. */
	reset_control_assert(platform->reset);
	reset_control_deassert(platform->reset);
}

static const struct cnnacc_bus cnnacc_platform_bus = {
	.irq = cnnacc_platform_irq,
	.allow_dma = cnnacc_platform_allow_dma,
	.wires = true,
	.wedged = "WEDGED=rebind",
	.irq_hint = "the properties interrupts and interrupt-names",
};

static int cnnacc_platform_start_clocks(struct cnnacc_platform *platform)
{
	int ret;

	ret = clk_bulk_prepare_enable(platform->clock_count, platform->clocks);
	if (ret)
		return ret;
	ret = reset_control_deassert(platform->reset);
	if (ret)
		clk_bulk_disable_unprepare(platform->clock_count, platform->clocks);
	return ret;
}

static int cnnacc_platform_power_on(struct device *dev, struct cnnacc_platform *platform)
{
	int ret = 0;

	if (platform->supply)
		ret = regulator_enable(platform->supply);
	if (ret)
		return dev_err_probe(dev, ret, "cannot enable the regulator of vdd-supply\n");
	ret = cnnacc_platform_start_clocks(platform);
	if (ret) {
		if (platform->supply)
			regulator_disable(platform->supply);
		return dev_err_probe(dev, ret, "cannot start the clocks or release the reset\n");
	}
	platform->on = true;
	return 0;
}

static void cnnacc_platform_power_off(void *data)
{
	struct cnnacc_platform *platform = data;

	if (!platform->on)
		return;
	platform->on = false;
	reset_control_assert(platform->reset);
	clk_bulk_disable_unprepare(platform->clock_count, platform->clocks);
	if (platform->supply)
		regulator_disable(platform->supply);
}

static int cnnacc_platform_get_supply(struct device *dev, struct cnnacc_platform *platform)
{
	platform->supply = devm_regulator_get_optional(dev, "vdd");
	if (PTR_ERR(platform->supply) == -ENODEV)
		platform->supply = NULL;
	return PTR_ERR_OR_ZERO(platform->supply);
}

static void cnnacc_platform_release_memory(void *dev)
{
	of_reserved_mem_device_release(dev);
}

static int cnnacc_platform_get_memory(struct device *dev)
{
	int ret;

	if (!of_property_present(dev->of_node, "memory-region"))
		return 0;
	ret = of_reserved_mem_device_init(dev);
	return ret ? ret : devm_add_action_or_reset(dev, cnnacc_platform_release_memory, dev);
}

/* The getters of optional properties take one that cannot be parsed for one that is missing. */
static int cnnacc_platform_get_clocks(struct device *dev, struct cnnacc_platform *platform)
{
	int ret = devm_clk_bulk_get_all(dev, &platform->clocks);

	if (!ret && of_property_present(dev->of_node, "clocks"))
		ret = -EINVAL;
	if (ret < 0)
		return ret;
	platform->clock_count = ret;
	return 0;
}

static int cnnacc_platform_get_reset(struct device *dev, struct cnnacc_platform *platform)
{
	platform->reset = devm_reset_control_array_get_optional_exclusive(dev);
	if (!platform->reset && of_property_present(dev->of_node, "resets"))
		return -EINVAL;
	return PTR_ERR_OR_ZERO(platform->reset);
}

/* Gets what is needed to power the device on; says which property is wrong. */
static int cnnacc_platform_get_resources(struct device *dev, struct cnnacc_platform *platform)
{
	int ret;

	ret = cnnacc_platform_get_supply(dev, platform);
	if (ret)
		return dev_err_probe(dev, ret, "vdd-supply: check that it names a regulator\n");
	ret = cnnacc_platform_get_clocks(dev, platform);
	if (ret)
		return dev_err_probe(dev, ret, "clocks: check that each one has a provider\n");
	ret = cnnacc_platform_get_reset(dev, platform);
	if (ret)
		return dev_err_probe(dev, ret, "resets: check that each one has a controller\n");
	ret = cnnacc_platform_get_memory(dev);
	if (ret)
		return dev_err_probe(dev, ret,
				     "memory-region: check that it names a pool in /reserved-memory\n");
	return 0;
}

static int cnnacc_platform_map(struct platform_device *pdev, void __iomem **regs)
{
	struct device *dev = &pdev->dev;
	struct resource *res = platform_get_resource(pdev, IORESOURCE_MEM, 0);

	if (!res)
		return dev_err_probe(dev, -ENODEV,
				     "reg: it is missing, or ranges of the parent lack it\n");
	if (resource_size(res) < CNNACC_REGS_SIZE)
		return dev_err_probe(dev, -ENODEV, "reg: %llu bytes, not %u\n",
				     (u64)resource_size(res), CNNACC_REGS_SIZE);
	*regs = devm_ioremap_resource(dev, res);
	if (IS_ERR(*regs))
		return dev_err_probe(dev, PTR_ERR(*regs), "reg: cannot map %pR, see above\n", res);
	return 0;
}

/* The device says how many cores it has, so this comes after its identification. */
static int cnnacc_platform_check_irqs(struct platform_device *pdev, struct cnnacc_device *cdev)
{
	unsigned int i;
	int irq, count = platform_irq_count(pdev);

	if (count <= 0)
		return dev_err_probe(&pdev->dev, count ? count : -ENODEV,
				     "interrupts: there must be one, or one per core and one for errors\n");
	cdev->vector_max = count == 1 ? 1 : cdev->core_count + 1;
	for (i = 0; i < cdev->vector_max; i++) {
		irq = cnnacc_platform_irq(&pdev->dev, i);
		if (irq < 0)
			return dev_err_probe(&pdev->dev, irq,
					     "interrupt-names: %u cores need core0 and so on, and error; interrupt %u has no name or no controller\n",
					     cdev->core_count, i);
	}
	return 0;
}

static int cnnacc_platform_create(struct platform_device *pdev, struct cnnacc_platform *platform)
{
	struct cnnacc_device *cdev;
	void __iomem *regs;
	int ret;

	ret = cnnacc_platform_map(pdev, &regs);
	if (!ret)
		ret = cnnacc_platform_power_on(&pdev->dev, platform);
	if (!ret)
		ret = devm_add_action_or_reset(&pdev->dev, cnnacc_platform_power_off, platform);
	if (ret)
		return ret;
	cdev = cnnacc_device_create(&pdev->dev, regs, &cnnacc_platform_bus);
	if (IS_ERR(cdev))
		return PTR_ERR(cdev);
	cdev->bus_state = platform;
	platform_set_drvdata(pdev, cdev);
	return cnnacc_platform_check_irqs(pdev, cdev);
}

/* Ends runtime PM, which has resumed the device, and its count of users. */
static void cnnacc_platform_disable_pm(struct device *dev)
{
	pm_runtime_disable(dev);
	pm_runtime_set_suspended(dev);
	pm_runtime_put_noidle(dev);
}

static int cnnacc_platform_probe(struct platform_device *pdev)
{
	struct cnnacc_platform *platform;
	struct device *dev = &pdev->dev;
	int ret;

	platform = devm_kzalloc(dev, sizeof(*platform), GFP_KERNEL);
	if (!platform)
		return -ENOMEM;
	ret = cnnacc_platform_get_resources(dev, platform);
	if (!ret)
		ret = cnnacc_platform_create(pdev, platform);
	if (ret)
		return ret;
	pm_runtime_get_noresume(dev);
	pm_runtime_set_active(dev);
	pm_runtime_enable(dev);
	ret = cnnacc_device_start(platform_get_drvdata(pdev));
	if (ret) {
		cnnacc_platform_disable_pm(dev);
		return ret;
	}
	cnnacc_pm_start(platform_get_drvdata(pdev));
	return 0;
}

static void cnnacc_platform_remove(struct platform_device *pdev)
{
	struct cnnacc_device *cdev = platform_get_drvdata(pdev);

	cnnacc_pm_stop(cdev);
	cnnacc_device_stop(cdev);
	cnnacc_platform_disable_pm(&pdev->dev);
}

static int cnnacc_platform_runtime_suspend(struct device *dev)
{
	struct cnnacc_device *cdev = dev_get_drvdata(dev);

	cnnacc_pm_runtime_suspend(dev);
	cnnacc_platform_power_off(cdev->bus_state);
	return 0;
}

static int cnnacc_platform_runtime_resume(struct device *dev)
{
	struct cnnacc_device *cdev = dev_get_drvdata(dev);
	int ret = cnnacc_platform_power_on(dev, cdev->bus_state);

	cdev->unpowered = ret;
	return ret ? ret : cnnacc_pm_runtime_resume(dev);
}

/*
 * The device may sleep already; unlike that of PCI, this bus does not wake it.  One that gets no
 * power does not keep the system from sleeping.
 */
static int cnnacc_platform_suspend(struct device *dev)
{
	struct cnnacc_device *cdev = dev_get_drvdata(dev);

	if (pm_runtime_get_sync(dev) < 0)
		cdev->unpowered = true;
	cnnacc_pm_suspend(dev);
	cnnacc_platform_power_off(cdev->bus_state);
	return 0;
}

/* A device that gets no power becomes wedged, so that its users are not left blocked. */
static int cnnacc_platform_resume(struct device *dev)
{
	struct cnnacc_device *cdev = dev_get_drvdata(dev);
	int ret = cnnacc_platform_power_on(dev, cdev->bus_state);

	cdev->unpowered = ret;
	cnnacc_pm_resume(dev);
	cnnacc_pm_put(cdev);
	return ret;
}

static const struct dev_pm_ops cnnacc_platform_pm_ops = {
	SYSTEM_SLEEP_PM_OPS(cnnacc_platform_suspend, cnnacc_platform_resume)
	RUNTIME_PM_OPS(cnnacc_platform_runtime_suspend, cnnacc_platform_runtime_resume, NULL)
};

static const struct of_device_id cnnacc_platform_ids[] = {
	{ .compatible = CNNACC_DT_COMPATIBLE },
	{ }
};
MODULE_DEVICE_TABLE(of, cnnacc_platform_ids);

struct platform_driver cnnacc_platform_driver = {
	.probe = cnnacc_platform_probe,
	.remove = cnnacc_platform_remove,
	.shutdown = cnnacc_platform_remove,
	.driver = {
		.name = "cnnacc",
		.of_match_table = cnnacc_platform_ids,
		.dev_groups = cnnacc_stats_attr_groups,
		.pm = pm_ptr(&cnnacc_platform_pm_ops),
	},
};
